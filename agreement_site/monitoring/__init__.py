"""Health, Prometheus metrics, logs and traces.

It may import agreement_site.middleware and the layers below.
"""

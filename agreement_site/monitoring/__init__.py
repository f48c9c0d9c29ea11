"""Health, Prometheus metrics, logs and traces.

It may import the layers from agreement_site.middleware down.
"""

"""The audit log: recording, texts, page, file and API.

It may import the layers from agreement_site.celery down.
"""

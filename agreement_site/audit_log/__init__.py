"""The audit log: recording, texts, page, file and API.

It may import agreement_site.celery and the layers below.
"""

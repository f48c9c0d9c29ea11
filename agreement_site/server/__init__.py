"""The programs behind `make run`: supervisor, web server, worker and embedded broker.

It may import agreement_site.celery and the layers below.
"""

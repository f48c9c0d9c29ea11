"""The programs behind `make run`: supervisor, web server, worker and embedded broker.

It may import the layers from agreement_site.celery down.
"""

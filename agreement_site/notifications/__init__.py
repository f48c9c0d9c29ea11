"""Mail to people: what each wants, news of events, the digest, and the queue.

It may import the layers from agreement_site.celery down.
"""

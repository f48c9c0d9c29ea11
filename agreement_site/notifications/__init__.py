"""Mail to people: what each wants, news of events, the digest, and the queue.

It may import agreement_site.celery and the layers below.
"""

"""Webhooks: addresses, one HTTP request, signatures, chat formats, and the outbox.

It may import the layers from events.services down.
"""

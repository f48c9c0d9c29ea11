"""Webhooks: addresses, one HTTP request, signatures, chat formats, and the outbox.

It may import events.services and the layers below.
"""

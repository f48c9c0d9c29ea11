"""Leases of rows, on-demand jobs, dispatch to the queue, retries of outboxes.

It may import the layers from core.db down.
"""

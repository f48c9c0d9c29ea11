"""Leases of rows, on-demand jobs, dispatch to the queue, retries of outboxes.

It may import core.db, core.web and the layers below.
"""

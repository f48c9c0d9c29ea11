"""Bulk SQL, COPY, prepared queries, transactions, squashed migrations, SQLite.

It may import the layers from core.security_log down.
"""

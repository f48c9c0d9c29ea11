"""Bulk SQL, PostgreSQL's COPY, row mapping, transactions, squashed migrations, the SQLite backend.

It may import the layers from core.security_log down.
"""

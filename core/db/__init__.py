"""Bulk SQL, PostgreSQL's COPY, row mapping, transactions, squashed migrations, the SQLite backend.

It may import core.security_log and the layers below.
"""

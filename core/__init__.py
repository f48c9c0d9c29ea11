"""Helpers for databases, the API, jobs and pages, without knowledge of annotation.

It imports no other package.
"""

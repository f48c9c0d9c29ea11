"""Accounts: sign-in, second factor, identity providers, sessions, attempt limits, preferences.

It may import agreement_site.celery and the layers below.
"""

"""Accounts: sign-in, second factor, identity providers, sessions, attempt limits, preferences.

It may import the layers from agreement_site.celery down.
"""

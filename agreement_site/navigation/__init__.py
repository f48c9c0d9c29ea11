"""Sidebar, tabs, user menu, search, and the admin site.

It may import the layers from agreement_site.celery down.
"""

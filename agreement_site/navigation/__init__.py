"""Sidebar, tabs, user menu, search, and the admin site.

It may import agreement_site.celery and the layers below.
"""

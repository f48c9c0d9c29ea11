"""Tables of pages and files, forms of settings, links, dates, safe HTML.

It may import the layers from core.security_log down.
"""

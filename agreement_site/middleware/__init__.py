"""Middleware: request limits, security headers, table exports, style sheets and scripts.

It may import the layers from agreement_site.error_pages down.
"""

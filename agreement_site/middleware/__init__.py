"""Middleware: request limits, security headers, table exports, style sheets and scripts.

It may import agreement_site.error_pages and the layers below.
"""

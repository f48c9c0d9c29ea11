"""Tables of pages and files, forms of settings, links, dates, safe HTML.

It may import core.security_log and the layers below.
"""

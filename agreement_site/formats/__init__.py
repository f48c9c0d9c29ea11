"""Date, time and number formats of each language, in the layout of FORMAT_MODULE_PATH.

It imports no other module of agreement_site.
"""

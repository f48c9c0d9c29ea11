"""Commands of manage.py that concern the whole site.

It may import its layer, agreement_site.housekeeping and the layers below.
"""

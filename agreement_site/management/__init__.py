"""Commands of manage.py that concern the whole site.

It may import its layer and the layers from agreement_site.housekeeping down.
"""

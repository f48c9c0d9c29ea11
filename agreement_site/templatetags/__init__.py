"""Template tags of the frame of every page.

It may import its layer, agreement_site.housekeeping and the layers below.
"""

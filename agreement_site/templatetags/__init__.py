"""Template tags of the frame of every page.

It may import its layer and the layers from agreement_site.housekeeping down.
"""

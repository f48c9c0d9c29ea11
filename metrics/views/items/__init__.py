"""The list of items with their ratings, the page of an item, and their files.

It may import the layers from metrics.views.common down.
"""

"""The list of items with their ratings, the page of an item, and their files.

It may import metrics.views.common.
"""

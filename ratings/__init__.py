"""Ratings: recording, annotation pages, imports, exports and the API of ratings.

It may import the layers from events down.
"""

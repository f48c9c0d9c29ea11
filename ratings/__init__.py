"""Ratings: recording, annotation pages, imports, exports and API.

It may import the layers from events down.
"""

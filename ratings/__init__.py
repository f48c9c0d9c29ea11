"""Ratings: recording, annotation pages, imports, exports and API.

It may import events and the layers below.
"""

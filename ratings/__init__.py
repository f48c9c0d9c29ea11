"""Ratings: recording, annotation pages, imports, exports and the API of ratings."""

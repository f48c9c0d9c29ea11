"""Ratings to stored counts, exact, under the question's lock.

It may import the layers from metrics.saved_views down.
"""

"""Ratings to stored counts, exact, under the question's lock.

It may import metrics.saved_views and the layers below.
"""

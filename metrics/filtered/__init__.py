"""Results of selected ratings, which a page requests and a worker computes.

It may import its layer and the layers from metrics.rating_history down.
"""

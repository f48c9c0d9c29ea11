"""Results of selected ratings, which a page requests and a worker computes.

It may import its layer, metrics.rating_history and the layers below.
"""

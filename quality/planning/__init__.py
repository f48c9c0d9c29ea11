"""Sample sizes, ratings per item, and the planned order of items.

It may import its layer, quality.own_rater and the layers below.
"""

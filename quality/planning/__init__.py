"""Sample sizes, ratings per item, and the planned order of items.

It may import its layer and the layers from quality.own_rater down.
"""

"""The label of each item from its ratings.

It may import the layers from quality.recomputation down.
"""

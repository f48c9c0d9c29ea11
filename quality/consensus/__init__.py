"""The label of each item from its ratings.

It may import quality.recomputation, quality.validation and the layers below.
"""

"""Integer counts of ratings that add up over disjoint sets of items.

It may import the layers from metrics.agreement.scales down.
"""

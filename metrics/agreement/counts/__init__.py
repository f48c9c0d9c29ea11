"""Integer counts of ratings that add up over disjoint sets of items.

It may import metrics.agreement.scales, metrics.agreement.weights and the layers below.
"""

"""Integer counts of ratings that add up over disjoint sets of items.

The variances and intervals of coefficients that are formulas over these counts are here, too.

It may import the layers from metrics.agreement.scales down.
"""

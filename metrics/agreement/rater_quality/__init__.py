"""Quality of single raters: gold answers, repeats, level of ratings, funnel limits.

It may import the layers from metrics.agreement.coefficients down.
"""

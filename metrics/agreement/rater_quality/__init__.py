"""Quality of single raters: gold answers, repeats, level of ratings, funnel limits.

It may import metrics.agreement.coefficients and the layers below.
"""

"""The page of all coefficients of a question, and the choice of its headline.

It may import metrics.views.common.
"""

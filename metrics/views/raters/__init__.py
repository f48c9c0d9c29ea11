"""The page of a rater, the versions of a model, and columns of the list of people.

It may import metrics.views.questions, metrics.views.pairs, metrics.views.coefficients,
metrics.views.changes, metrics.views.items, metrics.views.reports, metrics.views.glossary and the
layers below.
"""

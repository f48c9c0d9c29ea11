"""The list of projects, the questions of a project, and the example projects.

It may import metrics.views.questions, metrics.views.pairs, metrics.views.coefficients,
metrics.views.changes, metrics.views.items, metrics.views.reports, metrics.views.glossary and the
layers below.
"""

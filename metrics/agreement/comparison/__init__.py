"""Comparisons: before and after a change, and a model with people.

It may import metrics.agreement.consensus, metrics.agreement.label_sets,
metrics.agreement.sample_size, metrics.agreement.rater_quality and the layers below.
"""

"""Actions on quality: alerts, gold answers, review, labels, gates and planning.

It may import metrics and the layers below.
"""

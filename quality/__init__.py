"""Actions on quality: alerts, gold answers, review, labels, gates and planning.

It may import the layers from metrics down.
"""

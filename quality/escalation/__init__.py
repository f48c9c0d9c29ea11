"""Requests for further ratings of uncertain items, within a budget, and the rules of labels.

It may import its layer and the layers from quality.own_rater down.
"""

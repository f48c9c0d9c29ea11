"""Requests for further ratings of uncertain items, within a budget, and the rules of labels.

It may import its layer, quality.own_rater and the layers below.
"""

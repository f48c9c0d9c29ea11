"""Scores of raters against gold answers, suspected gold answers, warnings and pauses.

It may import its layer, quality.own_rater and the layers below.
"""

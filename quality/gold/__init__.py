"""Scores of raters against gold answers, suspected gold answers, warnings and pauses.

It may import its layer and the layers from quality.own_rater down.
"""

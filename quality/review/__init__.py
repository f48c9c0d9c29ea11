"""Uncertain items: rules, requested ratings, decisions, assignments, second opinions, appeals.

It may import its layer and the layers from quality.own_rater down.
"""

"""Review of uncertain items: decisions, assignments, second opinions, appeals.

It may import its layer, quality.own_rater and the layers below.
"""

"""Alerts: a sweep over the ratings creates them, and leads answer them.

It may import its layer and the layers from quality.own_rater down.
"""

"""Alerts: a sweep over the ratings creates them, and leads answer them.

It may import its layer, quality.own_rater and the layers below.
"""

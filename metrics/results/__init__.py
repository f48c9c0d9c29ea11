"""Counts to stored results of questions, raters and pairs.

It may import the layers from metrics.counting down.
"""

"""Counts to stored results of questions, raters and pairs.

It may import metrics.counting and the layers below.
"""

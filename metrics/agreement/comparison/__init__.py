"""Comparisons: before and after a change, and a model with people.

It may import the layers from metrics.agreement.consensus down.
"""

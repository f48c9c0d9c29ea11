"""Saved views of a project, and read-only links.

It may import metrics.views.charts and the layers below.
"""

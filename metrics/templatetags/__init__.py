"""Template tags of results: values with intervals, inline charts, parts of pages.

It may import the layers from metrics.views down.
"""

"""Template tags of results: values with intervals, inline charts, links of saved views.

It may import the layers from metrics.views down.
"""

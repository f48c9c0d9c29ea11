"""Template tags of results: values with intervals, inline charts, links of saved views.

It may import metrics.views, metrics.api, metrics.tasks and the layers below.
"""

"""The example projects: a classic study, a larger simulated project, and worked examples.

It may import metrics.filtered, metrics.attribution, metrics.reports and the layers below.
"""

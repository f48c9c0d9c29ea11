"""The example projects: a classic study, a larger simulated project, and worked examples.

It may import the layers from metrics.filtered down.
"""

"""The pages that explain a change between two periods, and the effect of guidelines.

It may import the layers from metrics.views.common down.
"""

"""The pages that explain a change between two periods, and the effect of guidelines.

It may import metrics.views.common.
"""

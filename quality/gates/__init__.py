"""Gates: rules that ratings must meet, signed verdicts at any moment, badges.

It may import the layers from quality.alerts down.
"""

"""The only way to record a rating, with its history, slots, days and uncounted items.

It may import the layers from ratings.models down.
"""

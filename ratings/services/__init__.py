"""The only way to record a rating: rating, history, slots, days, what is uncounted.

It may import the layers from ratings.models down.
"""

"""The only way to record a rating: rating, history, slots, days, what is uncounted.

It may import ratings.models and the layers below.
"""

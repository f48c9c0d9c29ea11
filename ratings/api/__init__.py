"""The API of items, raters and ratings, and of a form of your own.

It may import the layers from ratings.annotation down.
"""

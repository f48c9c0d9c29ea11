"""The API of items, raters and ratings, and of annotation with a custom form.

It may import the layers from ratings.annotation down.
"""

"""The annotation pages: forms, submission, progress, messages, own ratings.

It may import ratings.exports and the layers below.
"""

"""The annotation pages: forms, submission, progress, messages, own ratings.

It may import the layers from ratings.exports down.
"""

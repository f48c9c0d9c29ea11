"""Files of ratings and labels: streamed to a response, or written by workers in pieces.

It may import the layers from ratings.items down.
"""

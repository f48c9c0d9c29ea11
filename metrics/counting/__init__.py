"""Count ratings into the stored counts, exactly, under the lock of their question.

It may import the layers from metrics.saved_views down.
"""

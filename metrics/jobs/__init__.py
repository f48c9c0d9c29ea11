"""Work of the workers: hints, question updates, batches of small questions, permanent deletions.

It may import the layers from metrics.results down.
"""

"""Work of the workers: hints, question updates, batches of small questions, deletions.

It may import metrics.results and the layers below.
"""

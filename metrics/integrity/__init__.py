"""The audit: stored counts compared with the ratings, and recounts.

It may import metrics.jobs and the layers below.
"""

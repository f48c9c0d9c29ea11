"""Readers of evaluation frameworks, labeling platforms and lists of labels."""

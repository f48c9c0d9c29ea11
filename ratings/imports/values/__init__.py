"""Meaning of labels: missing codes, orders, scales and several labels in a cell."""

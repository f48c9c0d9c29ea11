"""Validation of the whole file: every problem with its line."""

"""Sentences of the kinds of alerts."""

"""Formats of Simplified Chinese."""

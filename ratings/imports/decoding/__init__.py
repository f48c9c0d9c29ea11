"""Bytes to text and JSON, and the sample by which a reader recognizes its files."""

"""Validation of a file, and the scratch SQLite file that holds its valid records until written."""

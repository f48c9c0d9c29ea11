"""Meaning of the columns of a table: guesses, and the decisions of the lead."""

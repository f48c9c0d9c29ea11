"""Meaning of the columns of a table: guesses, and the choices of the lead."""

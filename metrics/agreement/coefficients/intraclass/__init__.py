"""Intraclass correlations, complete and incomplete, with their limits."""

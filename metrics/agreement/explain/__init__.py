"""Explanations of results: interpretation bands, diagnoses and attribution."""

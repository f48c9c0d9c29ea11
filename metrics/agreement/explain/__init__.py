"""Explanations of results: interpretation bands, diagnoses, attribution and sensitivity."""

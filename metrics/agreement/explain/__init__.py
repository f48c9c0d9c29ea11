"""Explanations of results: interpretation bands, diagnoses and attribution.

It may import the layers from metrics.agreement.scale_coefficients down.
"""

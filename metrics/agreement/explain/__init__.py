"""Explanations of results: interpretation bands, diagnoses and attribution.

It may import metrics.agreement.batch and the layers below.
"""

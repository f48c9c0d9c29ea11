"""Vega-Lite specifications of charts and heat maps."""

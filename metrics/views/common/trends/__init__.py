"""Trends by period, recent weeks, and comparisons of periods."""

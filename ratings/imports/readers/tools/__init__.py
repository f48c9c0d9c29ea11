"""Readers of annotation tools."""

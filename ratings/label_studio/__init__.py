"""Connections with Label Studio: its annotations are read every minute, final labels written.

It may import the layers from ratings.imports down.
"""

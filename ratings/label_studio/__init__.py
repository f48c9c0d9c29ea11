"""Connections with Label Studio: its annotations are read every minute, final labels written.

It may import ratings.imports and the layers below.
"""

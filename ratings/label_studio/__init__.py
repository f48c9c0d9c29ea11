"""Connections with Label Studio: its annotations are read every minute, final labels written."""

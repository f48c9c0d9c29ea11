"""Readers of crowdsourcing platforms and forms."""

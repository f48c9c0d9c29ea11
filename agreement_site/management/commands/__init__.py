"""Backups, accounts, test mail, status, and the verification of the audit log."""

"""Members: joining, roles, invitation links and user names."""

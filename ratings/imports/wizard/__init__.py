"""Pages and forms of an import."""

"""Gates and their key, final labels, and sample sizes."""

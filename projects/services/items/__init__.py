"""Creation and change of items and gold answers."""

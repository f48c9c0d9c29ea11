"""Creation and change of raters, their fields, pauses and pseudonyms."""

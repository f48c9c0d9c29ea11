"""Disputed items, outlying raters, and the causes of a recent change."""

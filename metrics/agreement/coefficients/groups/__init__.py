"""Coefficients of groups of raters, and of a rater against the peers."""

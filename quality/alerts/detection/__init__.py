"""From findings of the formulas to new, matched and stored alerts."""

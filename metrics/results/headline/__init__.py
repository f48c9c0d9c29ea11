"""The headline coefficient of a question: choice, value, trend, random sample, other weights."""

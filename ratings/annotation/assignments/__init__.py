"""Assignment of items to raters: queue, candidates, hidden checks and exams."""

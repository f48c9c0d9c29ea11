"""Gates: rules that ratings must meet, signed verdicts at any moment, badges.

It may import quality.alerts, quality.escalation, quality.exams, quality.gold, quality.inbox,
quality.labels, quality.planning, quality.rater_status, quality.review and the layers below.
"""

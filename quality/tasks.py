"""What every worker does for labels and alarms, each in a thread of its own
(agreement_site.celery)."""

from __future__ import annotations

from quality.alerts import sweep
from quality.consensus import recompute
from quality.escalation import rating_requests
from quality.gold import recompute as gold
from quality.planning import queue_order
from quality.rater_status import comparison
from quality.repeats import recompute as repeats


def sweep_all() -> int:
    """Make the labels anew of questions whose ratings, decisions or raters changed, then ask again
    for items that they leave in doubt, and plan what comes first."""
    made = recompute.sweep()
    rating_requests.sweep()
    queue_order.sweep()
    return made


def sweep_alarms() -> int:
    """Look for drift in questions whose ratings changed."""
    return sweep.sweep()


def sweep_gold() -> int:
    """Make the scores on gold anew where ratings or gold answers changed, and those of raters
    against themselves where they were asked again."""
    return gold.sweep() + repeats.sweep()


def sweep_raters() -> int:
    """Set every rater beside the others anew where their readings moved."""
    return comparison.sweep()

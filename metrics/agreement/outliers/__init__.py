"""What else somebody should look at, beside raters who drift: who was apart from the start, who
answers alike or too fast, and which pair, question or category moved.

Everything begins from what `metrics.agreement.drift` found, without what its alarms take out: what
a drifter did since is nobody else's alarm. Each rule is an e-value against a stated bound, so that
one may look as often as one likes; `settings.alarm` (5,000) is the evidence that rings.

found.py is what a rule answers, apart.py and habits.py look at raters, moved.py at the rest,
everything.py puts them together, so that nothing rings twice for one cause.
"""

from .detection import Watched, watch
from .finding import (
    CATEGORY_COLLAPSED,
    PAIR_DIVERGED,
    QUESTION_FELL,
    RATER_APART,
    RATER_FAST,
    RATER_SAME,
    Found,
    Series,
)

__all__ = [
    "CATEGORY_COLLAPSED",
    "PAIR_DIVERGED",
    "QUESTION_FELL",
    "RATER_APART",
    "RATER_FAST",
    "RATER_SAME",
    "Found",
    "Series",
    "Watched",
    "watch",
]

"""Raters who almost always give one answer where the others give others.

Weaker than the alert (metrics.agreement.outliers.careless_raters): it asks for a check only.
"""

import numpy as np
from scipy import special

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

from .funnel import MIN_ITEMS

MIN_SHARE = 0.9  # of the most frequent answer: almost always
MIN_OTHER_ANSWERS = 0.25  # share of other answers among those of the others on the same items
SELDOM = 0.25  # of how often the others leave the answer, as for the alert
FALSE_POSITIVE_RATE = 0.05  # of naming anyone of a question


def find_repeating_raters(share: Floats, share_of_others: Floats, n_items: Ints) -> np.ndarray:
    """Return a mask (R,) of the raters who leave their most frequent answer too seldom.

    share, share_of_others (R,): of this answer in the rater's own answers and in those of the
    others on the same items; n_items (R,). The rater must leave it at most a quarter as often as
    the others, in one of ten items at most, and less often than chance explains if the others'
    share were the rater's own (binomial test with Bonferroni's correction for the raters).
    """
    left, left_by_others = 1 - share, 1 - share_of_others
    is_tested = (n_items >= MIN_ITEMS) & (left_by_others >= MIN_OTHER_ANSWERS)
    p = special.bdtr(np.rint(left * n_items), np.maximum(n_items, 1), left_by_others)
    is_seldom = (share >= MIN_SHARE) & (left <= SELDOM * left_by_others)
    level = FALSE_POSITIVE_RATE / max(int(np.count_nonzero(n_items >= MIN_ITEMS)), 1)
    return np.asarray(is_tested & is_seldom & (p < level))

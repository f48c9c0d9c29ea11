"""Models of stored counts, of results (also on demand) and of saved views.

Counts are exact integers and the only input of every result. Blobs are little-endian integer
arrays in C order, with columns by category *code* (so that re-ordering or adding categories moves
nothing); ``width`` is the number of codes. Patterns are int64; tables and moments use as many
bytes a cell as their length implies (counting.store.encode_arrays).

It may import the layers from metrics.agreement down.
"""

from metrics.models.results import Attribution, FilteredResult, Report

from .counts import (
    ALL_DAYS,
    BacklogRange,
    CountState,
    PairTally,
    PatternTally,
    PeerTally,
    Population,
    Worker,
)
from .results import (
    ALL_START,
    AuditResult,
    Diagnosis,
    PeriodUnit,
    RaterResult,
    Result,
    build_number_expression,
)
from .saved_views import SavedView, ShareLink

__all__ = [
    "ALL_DAYS",
    "ALL_START",
    "Attribution",
    "AuditResult",
    "BacklogRange",
    "CountState",
    "Diagnosis",
    "FilteredResult",
    "PairTally",
    "PatternTally",
    "PeerTally",
    "PeriodUnit",
    "Population",
    "RaterResult",
    "Report",
    "Result",
    "SavedView",
    "ShareLink",
    "Worker",
    "build_number_expression",
]

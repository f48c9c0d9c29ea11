"""Models: the stored counts, and the results computed from them.

Counts are exact integers and the only input of every result. Blobs are little-endian integer
arrays in C order, with columns by category *code* (so that re-ordering or adding categories moves
nothing); ``width`` is the number of codes. Patterns are int64; tables and moments use as many
bytes a cell as their length implies (counting.store.compact_blobs).
"""

from .counts import ALL_DAYS, CountState, PairTally, PatternTally, PeerTally, Share
from .on_demand import Attribution, Report, Slice
from .results import ALL_START, Diagnosis, RaterReading, Reading, Span, build_number_expression
from .saved_views import NamedView, ViewLink
from .workers import AuditResult, Worker

__all__ = [
    "ALL_DAYS",
    "ALL_START",
    "Attribution",
    "AuditResult",
    "CountState",
    "Diagnosis",
    "NamedView",
    "PairTally",
    "PatternTally",
    "PeerTally",
    "RaterReading",
    "Reading",
    "Report",
    "Share",
    "Slice",
    "Span",
    "ViewLink",
    "Worker",
    "build_number_expression",
]

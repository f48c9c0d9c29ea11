"""The stored counts, and the coefficients read off them.

Counts are exact integers and the only input of every reading. Blobs are little-endian integer
arrays in C order, their columns by category *code* (so that re-ordering or adding categories moves
nothing); ``width`` is the number of codes. Patterns are int64; tables and moments have as many
bytes a cell as their length says (counting.store.compact_blobs).
"""

from .counts import EVER, CountState, PairTally, PatternTally, PeerTally, Share
from .on_demand import Attribution, Report, Slice
from .results import ALL_START, Diagnosis, RaterReading, Reading, Span, number_at
from .saved_views import NamedView, ViewLink
from .workers import AuditResult, Worker

__all__ = [
    "ALL_START",
    "EVER",
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
    "number_at",
]

"""The heap of the C library: what a process keeps to itself, and what it returns to the system.

Forked processes share memory until one writes to it (docs/performance.md). Without glibc 2.33
nothing is done.
"""

from __future__ import annotations

import ctypes
import sys

FILL_SIZES = (4000, 2000, 1000, 500, 248, 120, 56, 24)  # bytes of a piece, the largest first
PIECES_AT_ONCE = 20


class HeapStatistics(ctypes.Structure):
    """The ``struct mallinfo2`` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    ]  # fmt: skip


def _load_glibc() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is None or not hasattr(library, "mallinfo2"):
        return None
    library.mallinfo2.restype = HeapStatistics
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    return library


def fill_free_pieces() -> None:
    """Allocate the free pieces of the heap and never free them, so that forks use new pages.

    A forked process copies each shared page to which it writes. The heap of the loaded site has
    about 2,000 free pieces; a process would use them first, and copy the page around each.
    """
    glibc = _load_glibc()
    if glibc is None:
        return
    for size in FILL_SIZES:
        # ``keepcost``, the free end of the heap, shrinks once no piece of this size is left.
        free_end = glibc.mallinfo2().keepcost
        while glibc.mallinfo2().keepcost == free_end:
            if not all(glibc.malloc(size) for _piece in range(PIECES_AT_ONCE)):
                return  # no memory left


def return_free_memory() -> None:
    """Return free pages of the heap to the system, which glibc keeps after large computations."""
    glibc = _load_glibc()
    if glibc is not None:
        glibc.malloc_trim(0)

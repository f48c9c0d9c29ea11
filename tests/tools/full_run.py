"""Set the effort of random tests: `make test-full` tries more than `make test`.

A normal run tries enough to find code that is broken; a full run searches longer for rare cases.
"""

from __future__ import annotations

import os

IS_FULL_RUN = bool(os.environ.get("FULL_TESTS"))


def choose_number(normal: int, *, full: int) -> int:
    """Return the number of examples, seeds or rows for this run."""
    return full if IS_FULL_RUN else normal

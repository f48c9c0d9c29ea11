"""The free pieces of the C heap are used up before processes are forked."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from agreement_site.server import heap

pytestmark = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33 or later"
)

# In a program of its own, because the filled memory is never freed.
FILL = """
from agreement_site.server import heap

def count_free_pieces():
    return heap._load_glibc().mallinfo2().ordblks

pieces = [bytes(2000 + number % 500) for number in range(20_000)]
del pieces[::2]
before = count_free_pieces()
heap.fill_free_pieces()
print(before, count_free_pieces())
"""


def test_fill_uses_nearly_all_free_pieces() -> None:
    output = subprocess.run(
        [sys.executable, "-c", FILL], check=True, capture_output=True, text=True
    ).stdout
    before, after = map(int, output.split())
    assert before > 9_000
    assert after < 100


def test_returning_free_memory_keeps_data() -> None:
    pieces = [bytes([number % 256]) * 5_000 for number in range(1_000)]
    heap.return_free_memory()
    assert all(piece == bytes([number % 256]) * 5_000 for number, piece in enumerate(pieces))

"""Blobs of counts use as few bytes per cell as possible, and older blobs can still be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metrics.counting import store
from metrics.integrity.audit import audit_question
from metrics.jobs import question_updates
from metrics.models import PairTally, PeerTally


@pytest.mark.parametrize(
    ("largest", "size"),
    [(0, 1), (127, 1), (128, 2), (32_767, 2), (32_768, 4), (2**31 - 1, 4), (2**31, 8)],
)
def test_cell_uses_fewest_possible_bytes(largest: int, size: int) -> None:
    tables = np.array([[[1, 2], [3, largest]], [[0, 0], [0, 1]]])
    first, second = store.encode_arrays(tables)
    assert (len(first), len(second)) == (4 * size, 4)
    assert store.decode_array(first, 2, 2).tolist() == tables[0].tolist()
    assert store.decode_arrays([second, b"", first], [2, 2, 2], 3, axes=2).tolist() == [
        [[0, 0, 0], [0, 1, 0], [0, 0, 0]],
        np.zeros((3, 3)).tolist(),
        [[1, 2, 0], [3, largest, 0], [0, 0, 0]],
    ]


def test_blobs_of_an_older_version_can_be_updated(question: Any, rate: Any) -> None:
    """Older blobs have eight bytes per cell."""
    for item in range(6):
        for rater in "abc":
            rate(question, f"i{item}", rater, ("none", "minor", "major")[(item + ord(rater)) % 3])
    question_updates.sweep_questions()
    for model, names in ((PairTally, {"table": 2}), (PeerTally, {"table": 2, "moments": 3})):
        for row in model.objects.all():
            for name, axes in names.items():
                setattr(
                    row,
                    name,
                    store.decode_array(getattr(row, name), *[row.width] * axes)
                    .astype("<i8")
                    .tobytes(),
                )
            row.save()
    assert audit_question(question.pk).differences == []
    rate(question, "i1", "a", "critical")
    rate(question, "i7", "b", "critical")
    question_updates.sweep_questions()
    assert audit_question(question.pk).differences == []

"""Attributes of items as columns of numbers, for drift detection.

A rater who began to get other kinds of items has not changed. Attributes with few values tell kinds
of items; those with many values are keys.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from projects.models import Item, Question

MAX_ATTRIBUTES = 5  # those that most items have
MAX_VALUES = 50
CHUNK_SIZE = 20_000
_NO_VALUE = 0  # the number of items without the attribute


def list_attribute_columns(
    question: Question, item_ids: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.int64]]:
    """Return a column (M,) for each usable attribute: the number of its value for each item id.

    Usable are attributes with 2 to MAX_VALUES values that are texts, numbers or truth values.
    """
    rows = Item.objects.filter(project=question.project_id).exclude(attributes={})
    values_by_name: dict[str, dict[int, str]] = defaultdict(dict)
    for item_id, attributes in rows.values_list("pk", "attributes").iterator(chunk_size=CHUNK_SIZE):
        for name, value in _list_scalars(attributes):
            values_by_name[name][item_id] = value
    unique_ids, index = np.unique(item_ids, return_inverse=True)
    columns: list[npt.NDArray[np.int64]] = []
    by_coverage = sorted(values_by_name, key=lambda name: (-len(values_by_name[name]), name))
    for name in by_coverage:
        values = values_by_name[name]
        numbers = {value: number for number, value in enumerate(sorted(set(values.values())), 1)}
        if len(numbers) > MAX_VALUES or len(columns) == MAX_ATTRIBUTES:
            continue
        column = np.array(
            [numbers.get(values.get(item_id, ""), _NO_VALUE) for item_id in unique_ids.tolist()],
            np.int64,
        )
        if np.unique(column).size > 1:
            columns.append(column[index])
    return columns


def _list_scalars(attributes: Any) -> list[tuple[str, str]]:
    """Return the names and values of an item's attributes that are neither lists nor objects."""
    if not isinstance(attributes, dict):
        return []
    return [
        (name, str(value))
        for name, value in attributes.items()
        if isinstance(value, (str, int, float, bool)) and str(value)
    ]

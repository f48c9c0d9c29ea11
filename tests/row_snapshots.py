"""All rows of some models, to assert that nothing changed.

They are compared as stored, and read in one round trip, because hundreds of tests read them twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Model

from core.db import bulk


def list_rows(models: Sequence[type[Model]]) -> dict[str, list[Any]]:
    """Return the label of each model with all its rows, ordered by primary key."""
    statements = [str(model._default_manager.order_by("pk").values().query) for model in models]
    rows = bulk.execute_statements((statement, ()) for statement in statements)
    return dict(zip((model._meta.label for model in models), rows, strict=True))

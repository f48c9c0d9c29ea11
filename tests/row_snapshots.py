"""All rows of some models, to prove that nothing changed: as the database has them, and on one
journey, for hundreds of tests look twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Model

from core.db import bulk


def rows_of(models: Sequence[type[Model]]) -> dict[str, list[Any]]:
    asked = [str(model._default_manager.order_by("pk").values().query) for model in models]
    found = bulk.execute_statements((statement, ()) for statement in asked)
    return dict(zip((model._meta.label for model in models), found, strict=True))

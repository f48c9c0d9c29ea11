"""Squashed migrations whose operations follow from the migrations that they replace."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from django.db.migrations import CreateModel, RunPython, RunSQL
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ModelState, ProjectState

from core.db.create_models import CreateModels


def build_squashed_operations(replaces: Sequence[tuple[str, str]]) -> list[Operation]:
    """Return operations that create the models as the migrations (app, name) leave them.

    A new database then creates each table once, where `squashmigrations` would keep most changes
    of tables. Operations in Python and SQL follow, except those marked `elidable`, which change
    rows that a new database does not have.
    """
    state = ProjectState()
    others: list[Operation] = []
    for app_label, name in replaces:
        for operation in import_module(f"{app_label}.migrations.{name}").Migration.operations:
            operation.state_forwards(app_label, state)
            if isinstance(operation, RunPython | RunSQL) and not operation.elidable:
                others.append(operation)
    return [CreateModels([build_create_model(model) for model in state.models.values()]), *others]


def build_create_model(model: ModelState) -> CreateModel:
    """Return the operation that creates a model in this state."""
    fields = list(model.fields.items())
    return CreateModel(model.name, fields, model.options, model.bases, model.managers)

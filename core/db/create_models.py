"""A migration operation that creates several models at once, and squashed migrations of it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from django.db.migrations import CreateModel, RunPython, RunSQL
from django.db.migrations.operations.base import Operation, OperationCategory
from django.db.migrations.state import ModelState, ProjectState


class CreateModels(Operation):
    """Create the tables of several models, in their order.

    Django renders every model that is related to a new one, once for each new one. With 80 models
    that are related to each other, this takes most of the time of the first start. Here they are
    rendered once.
    """

    category = OperationCategory.ADDITION

    def __init__(self, operations: Sequence[CreateModel]) -> None:
        self.operations = operations

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # a cached property: rendered again at its next use
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        for operation in self.operations:
            operation.database_forwards(app_label, schema_editor, from_state, to_state)
        # Django creates indexes at the end of the migration; its next operations need them.
        for statement in schema_editor.deferred_sql:
            schema_editor.execute(statement)
        schema_editor.deferred_sql.clear()

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        for operation in reversed(self.operations):
            operation.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create models {', '.join(operation.name for operation in self.operations)}"


def build_squashed_operations(replaces: Sequence[tuple[str, str]]) -> list[Operation]:
    """Return operations that create the models as the migrations (app, name) leave them.

    A new database then creates each table once; `squashmigrations` would keep most alterations.
    RunPython and RunSQL operations follow, except those marked `elidable`.
    """
    state = ProjectState()
    data_operations: list[Operation] = []
    for app_label, name in replaces:
        for operation in import_module(f"{app_label}.migrations.{name}").Migration.operations:
            operation.state_forwards(app_label, state)
            if isinstance(operation, RunPython | RunSQL) and not operation.elidable:
                data_operations.append(operation)
    models = [build_create_model(model) for model in state.models.values()]
    return [CreateModels(models), *data_operations]


def build_create_model(model: ModelState) -> CreateModel:
    """Return the CreateModel operation of a model's state."""
    fields = list(model.fields.items())
    return CreateModel(model.name, fields, model.options, model.bases, model.managers)

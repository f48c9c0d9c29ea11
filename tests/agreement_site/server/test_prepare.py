"""Tests of the first start: what it says, and that it does not render models again and again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState

BASE_DIR = Path(__file__).resolve().parents[3]


def prepare(data_dir: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agreement_site.server.prepare"],
        env={
            **{name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
            "DATA_DIR": str(data_dir),
            "DJANGO_SETTINGS_MODULE": "agreement_site.settings",
        },
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )


def test_first_start_says_how_many_steps_are_done(tmp_path: Path) -> None:
    first = prepare(tmp_path)
    lines = first.stderr.splitlines()
    n_steps = int(lines[0].split(", ")[1].split()[0])
    assert lines[0] == f"Creating or updating the tables, {n_steps} steps ..."
    assert lines[1] == f"  10 of {n_steps} steps"
    assert lines[-1] == f"  {n_steps} of {n_steps} steps"
    assert first.stdout.startswith("Sign in as lead with the password in ")

    assert prepare(tmp_path).stderr == ""


def test_new_database_renders_each_model_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django renders all models related to a changed one: most of the time of a first start."""
    loader = MigrationLoader(None)
    plan: list[tuple[str, str]] = []
    for leaf in loader.graph.leaf_nodes():
        plan += [node for node in loader.graph.forwards_plan(leaf) if node not in plan]
    n_rendered = 0
    render = ModelState.render

    def count(model_state: ModelState, apps: Any) -> object:
        nonlocal n_rendered
        n_rendered += 1
        return render(model_state, apps)

    monkeypatch.setattr(ModelState, "render", count)
    state = ProjectState(real_apps=loader.unmigrated_apps)
    for node in plan:
        assert state.apps is not None  # rendered, as before a table is created or changed
        state = loader.graph.nodes[node].mutate_state(state, preserve=False)
    n_models = len(state.models)
    assert n_rendered < 10 * n_models, (n_rendered, n_models)


def test_squashed_migrations_leave_what_the_replaced_ones_leave() -> None:
    """The tables of a new database are those of an upgraded one; old data need no operation."""
    squashed = MigrationLoader(None)
    replaced = MigrationLoader(None, replace_migrations=False)
    for (app_label, name), migration in squashed.disk_migrations.items():
        if migration.replaces:
            final_state = replaced.project_state(migration.replaces[-1])
            for model, model_state in squashed.project_state((app_label, name)).models.items():
                if model[0] == app_label:
                    assert model_state == final_state.models[model]

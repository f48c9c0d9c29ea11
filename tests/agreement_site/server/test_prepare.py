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


def test_new_tables_do_not_render_all_related_models_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Django renders the models related to a new one; initial migrations use CreateModels."""
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
    n_rendered_for_tables = 0
    for node in plan:
        assert state.apps is not None  # rendered, as before the first table is created
        n_before, n_models_before = n_rendered, len(state.models)
        state = loader.graph.nodes[node].mutate_state(state, preserve=False)
        if len(state.models) > n_models_before:  # other changes render what is related to them
            n_rendered_for_tables += n_rendered - n_before
    n_models = len(state.models)
    assert n_rendered_for_tables < 20 * n_models, (n_rendered_for_tables, n_models)

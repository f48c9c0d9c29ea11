"""Sentences on stored findings."""

from __future__ import annotations

import ast
import inspect

from metrics.agreement.explain import diagnosis, headline_differences
from metrics.views.common import insights


def test_each_finding_has_a_sentence() -> None:
    names = {
        node.args[0].value
        for module in (diagnosis, headline_differences)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "DiagnosticFinding"
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(names) > 10
    assert names <= set(insights._SENTENCES), (
        "describe each finding of metrics/agreement/explain in _SENTENCES of"
        " metrics/views/common/insights.py"
    )

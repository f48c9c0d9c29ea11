"""Settings of quality that a copied project takes over from its original."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from projects.models import Project, Question
from quality.alerts.sensitivity import get_sensitivity, set_sensitivity
from quality.gates.services import create_gate
from quality.models import Gate
from quality.review.label_rules import RULES, get_label_rules, set_label_rules


def copy_settings(
    project: Project, project_copy: Project, copies: Mapping[Question, Question], by: Any
) -> None:
    """Copy a project's alert sensitivity, label rules and gates to its copy.

    ``copies``: {question of the original project: its copy}. Gates that filter ratings by more than
    the kind of raters are left out, because the copy has no such raters and items yet; so are the
    rules of exams, which need gold answers.
    """
    set_sensitivity(project=project_copy, sensitivity=get_sensitivity(project.pk), by=by)
    for original, copy in copies.items():
        rules = get_label_rules(original)
        set_label_rules(question=copy, by=by, **{name: getattr(rules, name) for name in RULES})
        for gate in Gate.objects.filter(question=original):
            if all(set(rule.get("filter", {})) <= {"kind"} for rule in gate.rules):
                create_gate(
                    project=project_copy, question=copy, name=gate.name, rules=gate.rules, by=by
                )

"""Settings of quality that a copied project takes over from its original."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from projects.models import Question
from quality.alerts.sensitivity import get_sensitivity, set_sensitivity
from quality.gates.services import create_gate
from quality.models import Gate
from quality.review.label_rules import RULES, get_label_rules, set_label_rules


def copy_settings(copies: Mapping[Question, Question], by: Any) -> None:
    """Copy label rules, gates and the sensitivity of alerts to the copied questions.

    ``copies``: question of the original project -> its copy. Gates that filter ratings by
    more than the kind of raters are left out, because the copy has no such raters and items yet; so
    are the rules of exams, which need gold answers.
    """
    for original, copy in copies.items():
        rules = get_label_rules(original)
        set_label_rules(question=copy, by=by, **{name: getattr(rules, name) for name in RULES})
        for gate in Gate.objects.filter(question=original):
            if all(set(rule.get("filter", {})) <= {"kind"} for rule in gate.rules):
                create_gate(
                    project=copy.project, question=copy, name=gate.name, rules=gate.rules, by=by
                )
    original, copy = next(iter(copies.items()))
    set_sensitivity(project=copy.project, sensitivity=get_sensitivity(original.project_id), by=by)

"""Create, change and delete gates. Every change is in the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.text import has_control_character, has_invisible_character
from core.web.forms import InvalidFields
from projects.models import Project, Question
from quality.models import MAX_GATE_NAME_LENGTH, Gate

from .rules import InvalidRules, StoredRule, parse_filter, validate_rules

MAX_GATES = 50  # of a project


class InvalidGate(InvalidFields):
    """A gate is not valid. The field ``rules`` has a message, or {index: {field: message}}."""


def list_gates(project: Project) -> QuerySet[Gate]:
    """Return the gates of a project, by name."""
    gates = Gate.objects.filter(project=project).order_by("name")
    return gates.select_related("question__project", "created_by")


def get_gate(project: Project, name: str) -> Gate:
    """Return a gate of the project, or raise Http404."""
    gate = list_gates(project).filter(name=name).first() if "\0" not in name else None
    if gate is None:
        names = ", ".join(list_gates(project).values_list("name", flat=True)) or "none yet"
        raise Http404(f"There is no gate '{name[:60]}'; one of: {names}")
    return gate


@transaction.atomic
def create_gate(*, project: Project, question: Question, name: str, rules: Any, by: Any) -> Gate:
    """Create a gate and return it; a worker decides it soon.

    ``rules``: as the API takes them (quality.gates.rules). Raises InvalidGate for an invalid name
    or rule, and beyond MAX_GATES gates in the project.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    name, stored_rules = _validate_gate(project, question, name=name, rules=rules)
    if Gate.objects.filter(project=project).count() >= MAX_GATES:
        raise InvalidGate(name=_("At most %(n)s are allowed. Remove one first.") % {"n": MAX_GATES})
    now = timezone.now()
    gate = Gate.objects.create(
        project=project,
        question=question,
        name=name,
        rules=stored_rules,
        created_by=by,
        created_at=now,
        changed_at=now,
    )
    _log_change("gate_created", gate, by, after=_build_log_values(gate))
    return gate


@transaction.atomic
def change_gate(*, gate: Gate, name: str | None = None, rules: Any = None, by: Any) -> Gate:
    """Set the name, the rules, or both, and return the gate; a worker decides it again.

    None leaves a value unchanged. Raises InvalidGate, without changes.
    """
    Project.objects.select_for_update().get(pk=gate.project_id)
    row = Gate.objects.select_for_update().select_related("question__project").get(pk=gate.pk)
    before = _build_log_values(row)
    row.name, row.rules = _validate_gate(
        row.project,
        row.question,
        name=row.name if name is None else name,
        rules=row.rules if rules is None else rules,
        gate=row,
    )
    after = _build_log_values(row)
    if before != after:
        row.changed_at = timezone.now()
        row.save(update_fields=["name", "rules", "changed_at"])
        row.verdicts.all().delete()
        _log_change("gate_changed", row, by, before=before, after=after)
    return row


@transaction.atomic
def delete_gate(*, gate: Gate, by: Any) -> None:
    """Delete a gate. Verdicts that others stored can still be verified."""
    _log_change("gate_deleted", gate, by, before=_build_log_values(gate))
    gate.delete()


def rename_raters_in_gates(project_id: int, renamed: Mapping[str, str]) -> None:
    """Rename raters in the rules' lists of excluded raters, in the caller's transaction.

    ``renamed``: {old key: new key}. Stored verdicts of changed gates are deleted, and a worker
    decides these gates again.
    """
    for gate in Gate.objects.select_for_update().filter(project=project_id):
        rules = [_rename_in_rule(rule, renamed) for rule in gate.rules]
        if rules != gate.rules:
            gate.rules, gate.document, gate.changed_at = rules, None, timezone.now()
            gate.save(update_fields=["rules", "document", "changed_at"])
            gate.verdicts.all().delete()


def _rename_in_rule(rule: StoredRule, renamed: Mapping[str, str]) -> StoredRule:
    keys = parse_filter(rule.get("filter", {})).excluded_raters
    if not any(key in renamed for key in keys):
        return rule
    return rule | {"filter": rule["filter"] | {"exclude": [renamed.get(key, key) for key in keys]}}


def _validate_gate(
    project: Project, question: Question, *, name: str, rules: Any, gate: Gate | None = None
) -> tuple[str, list[StoredRule]]:
    """Return the stripped name and the rules as they are stored.

    ``gate``: the gate to change, None for a new one. Raises InvalidGate, which names every error.
    """
    errors: dict[str, Any] = {}
    name = name.strip()
    if not name or len(name) > MAX_GATE_NAME_LENGTH:
        errors["name"] = _("Enter 1 to %(n)s characters.") % {"n": MAX_GATE_NAME_LENGTH}
    elif "/" in name or name in (".", "..") or _has_unprintable(name):
        errors["name"] = _("No slashes or control characters.")
    else:
        others = Gate.objects.filter(project=project, name=name)
        if (others.exclude(pk=gate.pk) if gate else others).exists():
            errors["name"] = _("This name already exists.")
    stored_rules: list[StoredRule] = []
    try:
        stored_rules = validate_rules(rules, question)
    except InvalidRules as error:
        errors["rules"] = error.errors
    if errors:
        raise InvalidGate(**errors)
    return name, stored_rules


def _has_unprintable(name: str) -> bool:
    return has_control_character(name) or has_invisible_character(name)


def _build_log_values(gate: Gate) -> Mapping[str, Any]:
    return {"gate": gate.name, "question": gate.question.key, "rules": gate.rules}


def _log_change(event_type: str, gate: Gate, by: Any, **values: Any) -> None:
    security_log.log_event(
        event_type, project_id=gate.project_id, by=by.pk, gate=gate.name, **values
    )

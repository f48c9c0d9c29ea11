"""Pages of quality gates, and their form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from core.text import describe_saved
from metrics.filters import ITEM_PREFIX
from metrics.question_scale import QuestionScale
from metrics.views.common.selection import Selection, find_selection
from projects.models import Member
from projects.permissions import get_project
from quality.gates import services, verdict_texts
from quality.models import MAX_GATE_NAME_LENGTH, Gate

from .rules import (
    AT_LEAST,
    AT_MOST,
    MAX_RULES,
    StoredRule,
    get_measure,
    list_measures,
    parse_filter,
)

EMPTY_ROWS = 3


class GateForm(forms.Form):
    """Form of a gate's name."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=MAX_GATE_NAME_LENGTH,
    )


class RuleForm(forms.Form):
    """Form of a gate's rule; a row without a measure is empty."""

    measure = forms.ChoiceField(label=gettext_lazy("Measure"), required=False)
    limit = forms.FloatField(label=gettext_lazy("Required value"), required=False)
    filter = forms.CharField(
        label=gettext_lazy("Only these ratings"),
        required=False,
        max_length=2_000,
    )

    def __init__(self, *args: Any, measures: list[tuple[str, Any]], **kwargs: Any) -> None:
        # Django would not clean an unchanged row that its own counter calls an extra one.
        kwargs["empty_permitted"] = False
        super().__init__(*args, **kwargs)
        field: Any = self.fields["measure"]
        field.choices = [("", "—"), *measures]

    def build_rule(self) -> StoredRule | None:
        """Return the rule in the form of the API; None for an empty row."""
        values = self.cleaned_data
        name, limit, query = (values.get(field) for field in ("measure", "limit", "filter"))
        if not name and limit is None and not query:
            return None
        rule: StoredRule = {"measure": name or None}
        limit_field = get_measure(name).limit_field if name else AT_LEAST
        if limit is not None:
            rule[limit_field] = (
                int(limit) if limit_field == AT_MOST and limit == int(limit) else limit
            )
        if query:
            rule["filter"] = QueryDict(query.lstrip("?")).dict()
        return rule

    def add_rule_errors(self, errors: Mapping[str, str]) -> None:
        """Add the errors of the rule (quality.gates.rules.InvalidRules) to their fields."""
        for name, message in errors.items():
            field = "limit" if name in (AT_LEAST, AT_MOST) else name
            self.add_error(field if field in self.fields else None, message)


RuleFormSet = forms.formset_factory(RuleForm, extra=EMPTY_ROWS, max_num=MAX_RULES, absolute_max=50)


def build_rule_forms(scale: QuestionScale, *, data: Any = None, gate: Gate | None = None) -> Any:
    """Return the formset of a gate's rules, with the measures that suit the scale.

    ``data``: the posted form, None for an unposted one, which begins with the rules of
    ``gate``.
    """
    measures = [(name, get_measure(name).label) for name in list_measures(scale)]
    return RuleFormSet(
        data,
        prefix="rules",
        initial=[_build_initial(rule) for rule in gate.rules] if gate else None,
        form_kwargs={"measures": measures},
    )


def _build_initial(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    query = QueryDict(mutable=True)
    query.update(parse_filter(rule.get("filter", {})).parameters)
    return {
        "measure": rule["measure"],
        "limit": rule[get_measure(rule["measure"]).limit_field],
        "filter": query.urlencode(safe=f"/{ITEM_PREFIX}"),
    }


LEAD, VIEWER = Member.Role.LEAD, Member.Role.VIEWER


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def list_gates(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the gates of a project; a POST by a lead creates one of the selected question."""
    is_post = request.method == "POST"
    project = get_project(request.user, project_id, role=LEAD if is_post else VIEWER)
    selection = find_selection(request, project)
    if selection is None:
        raise Http404(_("This project has no questions yet."))
    form = GateForm(request.POST or None)
    rule_forms = build_rule_forms(selection.scale, data=request.POST or None)
    if is_post and form.is_valid() and rule_forms.is_valid():
        try:
            gate = services.create_gate(
                project=project,
                question=selection.question,
                name=form.cleaned_data["name"],
                rules=[rule for row in rule_forms if (rule := row.build_rule()) is not None],
                by=request.user,
            )
        except services.InvalidGate as error:
            _add_errors(form, rule_forms, error)
        else:
            return redirect(_get_url("gate", gate))
    context = {
        "project": project,
        "selection": selection,
        "form": form,
        "rule_forms": rule_forms,
        "gates": [_build_row(gate) for gate in services.list_gates(project)],
        "address": f"{reverse('gates', args=[project.pk])}?{_build_query(selection)}",
    }
    status = 400 if is_post else 200
    return render(request, "quality/gates/list.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show_gate(request: HttpRequest, project_id: int, gate_name: str) -> HttpResponse:
    """Show a gate with its last verdict; a POST by a lead changes its name and rules."""
    is_post = request.method == "POST"
    project = get_project(request.user, project_id, role=LEAD if is_post else VIEWER)
    gate = services.get_gate(project, gate_name)
    form = GateForm(request.POST or None, initial={"name": gate.name})
    scale = QuestionScale.for_question(gate.question)
    rule_forms = build_rule_forms(scale, data=request.POST or None, gate=gate)
    if is_post and form.is_valid() and rule_forms.is_valid():
        try:
            gate = services.change_gate(
                gate=gate,
                name=form.cleaned_data["name"],
                rules=[rule for row in rule_forms if (rule := row.build_rule()) is not None],
                by=request.user,
            )
        except services.InvalidGate as error:
            _add_errors(form, rule_forms, error)
        else:
            messages.success(request, describe_saved(_("Gate")))
            return redirect(_get_url("gate", gate))
    badge_url = _get_url("gate_badge", gate)
    context = {
        "project": project,
        "form": form,
        "rule_forms": rule_forms,
        "badge_url": badge_url,
        "badge_address": request.build_absolute_uri(badge_url),
        "verdict_address": request.build_absolute_uri(
            reverse("api-gate-verdict", args=[project.pk, gate.name])
        ),
        "address": _get_url("gate", gate),
        "delete_address": _get_url("gate_delete", gate),
        **_build_row(gate),
    }
    status = 400 if is_post else 200
    return render(request, "quality/gates/gate.html", context, status=status)


@login_required
@require_POST
def delete_gate(request: HttpRequest, project_id: int, gate_name: str) -> HttpResponse:
    """Delete the gate of this name and return to the list. For leads."""
    project = get_project(request.user, project_id, role=LEAD)
    services.delete_gate(gate=services.get_gate(project, gate_name), by=request.user)
    messages.success(request, _("Deleted."))
    return redirect("gates", project_id=project.pk)


def _build_row(gate: Gate) -> Mapping[str, Any]:
    """Return a gate with its rules in words and its last verdict, for a template."""
    document = gate.document
    return {
        "gate": gate,
        "url": _get_url("gate", gate),
        "rules": [verdict_texts.describe_rule(rule) for rule in gate.rules],
        "verdict_label": verdict_texts.get_verdict_label(gate),
        "style": verdict_texts.BADGE_STYLES.get(gate.verdict, ""),
        "summary": verdict_texts.describe_verdict(document) if document else "",
        "rows": verdict_texts.build_rule_rows(document) if document else [],
        "document": document,
        "has_intervals": any(
            map(verdict_texts.has_interval, document["rules"] if document else [])
        ),
        "decided_at": parse_datetime(document["as_of"]) if document else None,
    }


def _get_url(name: str, gate: Gate) -> str:
    return reverse(name, args=[gate.project_id, gate.name])


def _build_query(selection: Selection) -> str:
    return urlencode({"question": selection.question.key})


def _add_errors(form: GateForm, rule_forms: Any, error: services.InvalidGate) -> None:
    """Add the errors of a gate to their fields.

    Indexes of rules in the errors do not count empty rows.
    """
    if "name" in error.fields:
        form.add_error("name", error.fields["name"])
    rules = error.fields.get("rules", {})
    if isinstance(rules, str):
        form.add_error(None, rules)
        return
    rows = [row for row in rule_forms if row.build_rule() is not None]
    for index, errors in rules.items():
        rows[int(index)].add_rule_errors(errors)

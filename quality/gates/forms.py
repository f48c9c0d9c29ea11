"""Forms of a gate: its name, and a row for each rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from metrics.filters import ITEM_PREFIX
from metrics.scale import QuestionScale
from quality.models import MAX_GATE_NAME_LENGTH, Gate

from .measures import AT_LEAST, AT_MOST, get_measure, list_measures
from .rules import MAX_RULES, StoredRule, parse_filter

EMPTY_ROWS = 3


class GateForm(forms.Form):
    """The name of a gate."""

    name = forms.CharField(
        label=_("Name"),
        max_length=MAX_GATE_NAME_LENGTH,
        help_text=_("Used in its URL, such as v2."),
    )


class RuleForm(forms.Form):
    """A rule of a gate; a row without a measure is no rule."""

    measure = forms.ChoiceField(label=_("Measure"), required=False)
    bound = forms.FloatField(label=_("Floor (limit of open alerts)"), required=False)
    filter = forms.CharField(
        label=_("Only these ratings"),
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
        """Return the rule as the API takes it; None for an empty row."""
        values = self.cleaned_data
        name, bound, query = (values.get(field) for field in ("measure", "bound", "filter"))
        if not name and bound is None and not query:
            return None
        rule: StoredRule = {"measure": name or None}
        bound_name = get_measure(name).bound if name else AT_LEAST
        if bound is not None:
            rule[bound_name] = (
                int(bound) if bound_name == AT_MOST and bound == int(bound) else bound
            )
        if query:
            rule["filter"] = QueryDict(query.lstrip("?")).dict()
        return rule

    def add_rule_errors(self, errors: Mapping[str, str]) -> None:
        """Show what is wrong with the rule (quality.gates.rules.InvalidRules)."""
        for name, message in errors.items():
            field = "bound" if name in (AT_LEAST, AT_MOST) else name
            self.add_error(field if field in self.fields else None, message)


RuleFormSet = forms.formset_factory(RuleForm, extra=EMPTY_ROWS, max_num=MAX_RULES, absolute_max=50)


def build_rule_forms(scale: QuestionScale, *, data: Any = None, gate: Gate | None = None) -> Any:
    """Return the rows of the rules, with the measures that suit the question."""
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
        "bound": rule[get_measure(rule["measure"]).bound],
        "filter": query.urlencode(safe=f"/{ITEM_PREFIX}"),
    }

"""A form of settings saves what its user changed, and reports changes of somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from django import forms

from core.web.forms import SettingsForm


class ExampleForm(SettingsForm):
    text = forms.CharField(required=False)
    number = forms.IntegerField(required=False)
    share = forms.FloatField()
    flag = forms.BooleanField(required=False)
    order = forms.ChoiceField(choices=[("a", "Alphabetical"), ("r", "Random")])


STORED = {"text": "one\ntwo", "number": None, "share": 0.05, "flag": True, "order": "r"}


def build_data(form: forms.Form) -> dict[str, Any]:
    """Return what a browser submits of an unchanged page: text inputs, and boxes that are set."""
    data = {form[name].html_initial_name: form[name].initial for name in form.fields}
    data |= {form[name].html_name: form[name].initial for name in form.fields}
    return {
        name: "" if value is None else str(value).replace("\n", "\r\n")
        for name, value in data.items()
        if name != "flag" or value
    }


def submit(changes: dict[str, str], stored: Mapping[str, object] = STORED) -> ExampleForm:
    """Return the bound form of a page that showed STORED, when ``stored`` is stored meanwhile."""
    return ExampleForm(build_data(ExampleForm(initial=STORED)) | changes, initial=stored)


def test_page_contains_the_shown_values() -> None:
    page = ExampleForm(initial=STORED).as_p()
    assert all(f'name="initial-{name}"' in page for name in STORED)


def test_unchanged_fields_are_not_saved() -> None:
    form = submit({})
    assert form.is_valid(), form.errors
    assert form.get_changes() == {}
    form = submit({"number": "3"}, STORED | {"text": "another", "share": 0.1})
    assert form.is_valid(), form.errors
    assert form.get_changes() == {"number": 3}


@pytest.mark.parametrize(
    ("name", "value", "other", "other_text"),
    [
        ("text", "mine", "x" * 200, "x" * 99 + "…"),
        ("number", "3", 7, "7"),
        ("share", "0.2", 0.1, "0.1"),
        ("order", "a", "f", "f"),
    ],
)
def test_change_of_somebody_else_is_replaced_the_second_time(
    name: str, value: str, other: Any, other_text: str
) -> None:
    form = submit({name: value}, STORED | {name: other})
    assert not form.is_valid()
    assert form.errors == {
        name: [f"Someone else changed this to “{other_text}”. Save again to replace it."]
    }
    again = ExampleForm(form.data, initial=STORED | {name: other})
    assert again.is_valid(), again.errors
    assert list(again.get_changes()) == [name]


def test_the_same_change_is_no_conflict() -> None:
    form = submit({"number": "3"}, STORED | {"number": 3})
    assert form.is_valid(), form.errors


def test_without_a_page_values_are_compared_with_those_stored() -> None:
    form = ExampleForm({"share": "0.05", "order": "a"}, initial=STORED)
    assert form.is_valid(), form.errors
    assert form.get_changes() == {"text": "", "flag": False, "order": "a"}

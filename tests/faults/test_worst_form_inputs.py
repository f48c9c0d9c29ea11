"""Tests that the worst text in all fields of every form takes a bounded time and memory."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.test import Client

from projects.models import Project
from tests.agreement_site.test_invalid_forms import FORM_DATA, build_path, client
from tests.tools.worst_inputs import limit_memory, limit_time, list_worst_texts

__all__ = ["client"]  # the fixture

pytestmark = pytest.mark.sqlite_only("forms do not depend on the database")

LENGTH = 100_000  # characters: as long as the longest texts that forms accept


def list_field_names(context: Any) -> set[str]:
    """Return the names of the fields of the forms that a page was rendered from."""
    names: set[str] = set()
    for layer in context or ():
        for value in layer.flatten().values() if hasattr(layer, "flatten") else layer.values():
            if isinstance(value, forms.BaseForm):
                names |= {value.add_prefix(name) for name in value.fields}
    return names


@pytest.mark.parametrize("address", FORM_DATA)
def test_all_fields_of_a_form_are_bounded(address: str, client: Client, project: Project) -> None:
    path, form_data = build_path(address, project), FORM_DATA[address]
    page = client.post(path, form_data)
    names = sorted(list_field_names(page.context) | set(form_data))
    assert names or not form_data
    with limit_memory():
        for kind, text in list_worst_texts(LENGTH).items():
            with limit_time(f"{path}: {kind}"):
                response = client.post(path, {**form_data, **dict.fromkeys(names, text)})
            assert response.status_code < 500, f"{path}: {kind}"

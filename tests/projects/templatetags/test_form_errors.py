"""The summary of form errors at the top of a page, with a link to each field."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from tests.cast import build_question_data

pytestmark = pytest.mark.django_db

MANAGEMENT_FORM_DATA = {"c-TOTAL_FORMS": "2", "c-INITIAL_FORMS": "0"}
DUPLICATE_HOTKEY_DATA = {
    "c-0-label": "fine", "c-0-hotkey": "1", "c-0-ORDER": "1",
    "c-1-label": "rude", "c-1-hotkey": "1", "c-1-ORDER": "2",
}  # fmt: skip


def parse_summary(page: str) -> tuple[str, list[str]]:
    """Return the summary's text and the IDs of the fields it links to; each must be on the page."""
    (element,) = re.findall(r'<div class="notice notice--error error-summary".*?</div>', page, re.S)
    assert 'tabindex="-1" autofocus' in element
    fields = re.findall(r'href="#([^"]+)"', element)
    for field in fields:
        assert f'id="{field}"' in page.split("</div>", 1)[1], field
    text = html.unescape(re.sub(r"<[^>]+>", "", element))
    return re.sub(r"\s+", " ", text).strip(), fields


def test_long_form_lists_all_errors(lead: Any, client_for: Any, project: Any) -> None:
    form_data = {"name": "", "overlap": "0", "text": "Rude?", "key": "r", "scale": "nominal"}
    form_data |= {"time_zone": "UTC", **MANAGEMENT_FORM_DATA, **DUPLICATE_HOTKEY_DATA}
    response = client_for(lead).post("/projects/new/", form_data)
    assert response.status_code == 400
    summary_text, fields = parse_summary(response.content.decode())
    assert summary_text.startswith("Not saved. Fix 3 errors.")
    assert fields == ["id_name", "id_overlap", "id_c-1-hotkey"]
    assert "Row 2, Hotkey: “1” appears twice" in summary_text


def test_new_question_form_lists_a_duplicate_hotkey(
    lead: Any, client_for: Any, project: Any
) -> None:
    address = f"/projects/{project.pk}/settings/new-question/"
    form_data = {
        "text": "Rude?",
        "key": "r",
        "scale": "nominal",
        **MANAGEMENT_FORM_DATA,
        **DUPLICATE_HOTKEY_DATA,
    }
    summary_text, fields = parse_summary(client_for(lead).post(address, form_data).content.decode())
    assert fields == ["id_c-1-hotkey"]
    assert "Fix 1 error." in summary_text


@pytest.mark.parametrize("path", ["/projects/new/", "/projects/{pk}/settings/new-question/"])
@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"c-0-label": "fine"}, "id_c-1-label"),  # the row to fill in
        ({"c-1-label": "fine"}, "id_c-0-label"),
        ({"c-TOTAL_FORMS": "1", "c-0-label": "fine"}, "id_c-0-label"),
        ({}, "id_c-0-label"),
    ],
)
def test_too_few_categories_link_to_a_row(
    path: str, table: dict[str, str], field: str, lead: Any, client_for: Any, project: Any
) -> None:
    form_data = {
        "name": "New",
        "overlap": "2",
        "time_zone": "UTC",
        "text": "Rude?",
        "scale": "nominal",
    }
    response = client_for(lead).post(
        path.format(pk=project.pk), form_data | MANAGEMENT_FORM_DATA | table
    )
    summary_text, fields = parse_summary(response.content.decode())
    assert fields == [field]
    assert summary_text.startswith("Not saved. Fix 1 error.")
    assert "Label: Enter 2 to 50 categories." in summary_text


def test_deleting_too_many_categories_shows_one_error(
    lead: Any, client_for: Any, project: Any, question: Any
) -> None:
    first, *others = question.active_categories()
    form_data = build_question_data(question, {"c-INITIAL_FORMS": "0"})
    form_data |= {"c-TOTAL_FORMS": str(1 + len(others))}
    for number, category in enumerate((first, *others)):
        form_data |= {f"c-{number}-label": category.label, f"c-{number}-code": str(category.code)}
        form_data |= {f"c-{number}-DELETE": "on"} if number else {}
    address = f"/projects/{project.pk}/settings/questions/severity/"
    summary_text, fields = parse_summary(client_for(lead).post(address, form_data).content.decode())
    assert summary_text.startswith("Not saved. Fix 1 error.")
    assert len(fields) == 1


@pytest.mark.parametrize(
    ("path", "form_data", "field"),
    [
        ("settings/", {"name": ""}, "id_name"),
        ("reports/", {"as_of": "soon"}, "id_as_of"),
        ("new-item/", {}, "id_key"),
        ("/tokens/", {"scope": "everything"}, "id_scope"),
        ("/password/", {"old_password": "wrong"}, "id_old_password"),
    ],
)
def test_short_form_links_to_its_invalid_field(
    lead: Any, client_for: Any, project: Any, path: str, form_data: dict[str, str], field: str
) -> None:
    address = path if path.startswith("/") else f"/projects/{project.pk}/{path}"
    response = client_for(lead).post(address, form_data)
    assert response.status_code == 400
    assert field in parse_summary(response.content.decode())[1]


def test_password_errors_are_shown_once(lead: Any, client_for: Any) -> None:
    form_data = {"old_password": "wrong", "new_password1": "lead1", "new_password2": "lead1"}
    page = client_for(lead).post("/password/", form_data).content.decode()
    summary_text, fields = parse_summary(page)
    assert fields == ["id_old_password", "id_new_password1"]
    assert summary_text.startswith("Not saved. Fix 2 errors.")  # one a field
    assert "too short" not in summary_text
    main = html.unescape(page.split("<main", 1)[1])
    for message in (
        "entered incorrectly",
        "At least",
        "similar to the username",
    ):
        assert main.count(message) == 1
    assert re.search(r'id="id_new_password1_helptext" hidden', main)
    assert "Confirm new password" in main
    assert "confirmation" not in main

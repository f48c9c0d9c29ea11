"""What is wrong with a form stands on top, with a link to each field."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

pytestmark = pytest.mark.django_db

ROWS = {"c-TOTAL_FORMS": "2", "c-INITIAL_FORMS": "0"}
TWICE = {
    "c-0-label": "fine", "c-0-hotkey": "1", "c-0-ORDER": "1",
    "c-1-label": "rude", "c-1-hotkey": "1", "c-1-ORDER": "2",
}  # fmt: skip


def summary(page: str) -> tuple[str, list[str]]:
    """What it says, and the fields it leads to, all of which are on the page."""
    (part,) = re.findall(r'<div class="notice notice--error error-summary".*?</div>', page, re.S)
    assert 'tabindex="-1" autofocus' in part
    fields = re.findall(r'href="#([^"]+)"', part)
    for field in fields:
        assert f'id="{field}"' in page.split("</div>", 1)[1], field
    text = html.unescape(re.sub(r"<[^>]+>", "", part))
    return re.sub(r"\s+", " ", text).strip(), fields


def test_a_long_form_names_all_that_is_wrong(lead: Any, client_for: Any, project: Any) -> None:
    sent = {"name": "", "overlap": "0", "text": "Rude?", "key": "r", "scale": "nominal"}
    sent |= {"time_zone": "UTC", **ROWS, **TWICE}
    answer = client_for(lead).post("/projects/new/", sent)
    assert answer.status_code == 400
    said, fields = summary(answer.content.decode())
    assert said.startswith("Nothing was saved: 3 things are to be mended.")
    assert fields == ["id_name", "id_overlap", "id_c-1-hotkey"]
    assert "Row 2, Hotkey: '1' stands twice" in said


def test_the_categories_of_a_question(lead: Any, client_for: Any, project: Any) -> None:
    address = f"/projects/{project.pk}/setup/new-question/"
    sent = {"text": "Rude?", "key": "r", "scale": "nominal", **ROWS, **TWICE}
    said, fields = summary(client_for(lead).post(address, sent).content.decode())
    assert fields == ["id_c-1-hotkey"]
    assert "1 thing is to be mended" in said


@pytest.mark.parametrize("path", ["/projects/new/", "/projects/{pk}/setup/new-question/"])
@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"c-0-label": "fine"}, "id_c-1-label"),  # the row to fill in
        ({"c-1-label": "fine"}, "id_c-0-label"),
        ({"c-TOTAL_FORMS": "1", "c-0-label": "fine"}, "id_c-0-label"),
        ({}, "id_c-0-label"),
    ],
)
def test_too_few_categories_lead_to_a_row(
    path: str, table: dict[str, str], field: str, lead: Any, client_for: Any, project: Any
) -> None:
    sent = {"name": "New", "overlap": "2", "time_zone": "UTC", "text": "Rude?", "scale": "nominal"}
    answer = client_for(lead).post(path.format(pk=project.pk), sent | ROWS | table)
    said, fields = summary(answer.content.decode())
    assert fields == [field]
    assert said.startswith("Nothing was saved: 1 thing is to be mended.")
    assert "Label: A question needs two categories at least." in said


def test_too_few_categories_are_left_of_a_question(
    lead: Any, client_for: Any, project: Any, question: Any
) -> None:
    kept, *others = question.active_categories()
    sent = {"scale": "ordinal", "seen_version": "1", "c-INITIAL_FORMS": "0"}
    sent |= {"c-TOTAL_FORMS": str(1 + len(others))}
    for number, one in enumerate((kept, *others)):
        sent |= {f"c-{number}-label": one.label, f"c-{number}-code": str(one.code)}
        sent |= {f"c-{number}-DELETE": "on"} if number else {}
    address = f"/projects/{project.pk}/setup/questions/severity/categories/"
    said, fields = summary(client_for(lead).post(address, sent).content.decode())
    assert said.startswith("Nothing was saved")
    assert len(fields) == 1


@pytest.mark.parametrize(
    ("path", "sent", "field"),
    [
        ("setup/", {"name": ""}, "id_name"),
        ("reports/", {"as_of": "soon"}, "id_as_of"),
        ("new-item/", {}, "id_key"),
        ("/tokens/", {"scope": "everything"}, "id_scope"),
        ("/password/", {"old_password": "wrong"}, "id_old_password"),
    ],
)
def test_short_forms_too(
    lead: Any, client_for: Any, project: Any, path: str, sent: dict[str, str], field: str
) -> None:
    address = path if path.startswith("/") else f"/projects/{project.pk}/{path}"
    answer = client_for(lead).post(address, sent)
    assert answer.status_code == 400
    assert field in summary(answer.content.decode())[1]


def test_what_is_wrong_with_a_password_is_told_once(lead: Any, client_for: Any) -> None:
    sent = {"old_password": "wrong", "new_password1": "lead1", "new_password2": "lead1"}
    page = client_for(lead).post("/password/", sent).content.decode()
    said, fields = summary(page)
    assert fields == ["id_old_password", "id_new_password1"]
    assert said.startswith("Nothing was saved")
    assert "too short" not in said
    main = html.unescape(page.split("<main", 1)[1])
    for complaint in (
        "entered incorrectly",
        "This password is too short",
        "similar to the username",
    ):
        assert main.count(complaint) == 1
    assert re.search(r'id="id_new_password1_helptext" hidden', main)
    assert "The new password once more" in main
    assert "confirmation" not in main

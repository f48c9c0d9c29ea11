"""The wizard's section on labels: missing values, and labels that differ in capital letters."""

from __future__ import annotations

from typing import Any

import pytest

from projects.models import Project
from ratings.models import Rating
from tests.ratings.imports.wizard_client import WizardClient, get_page_text

pytestmark = pytest.mark.django_db

FILE = b"item,rater,label\n1,a,Yes\n1,b,yes\n2,a,no\n2,b,n/a\n3,a,skip\n3,b,no\n"


@pytest.fixture
def new_project_wizard(client_for: Any, lead: Any) -> WizardClient:
    return WizardClient(client_for(lead))


def test_labels_are_decided_before_the_import(new_project_wizard: WizardClient) -> None:
    wizard = new_project_wizard
    wizard.upload_and_validate(FILE)
    page = wizard.get_page()
    assert page.context["labels_form"]["missing"].value() == "n/a"
    assert "Perhaps the same labels: 'Yes / yes'" in get_page_text(page)
    assert "Choose how to read these labels" in get_page_text(page)
    assert "No problems found" not in get_page_text(page)
    # Nothing starts before the decision.
    response = wizard.start_import()
    assert response.status_code == 400 and "Choose how to read these labels" in get_page_text(
        response
    )
    assert not Project.objects.exists()
    # A decision is required for both.
    response = wizard.client.post(wizard.run_url, {"action": "labels", "missing": "n/a"})
    assert response.status_code == 400
    decisions = {"action": "labels", "missing": 'n/a, skip, "no, never"', "similar": "join"}
    assert wizard.client.post(wizard.run_url, decisions).status_code == 302
    run = wizard.run_worker()
    assert run.summary["skipped_records"]["missing"]["count"] == 2
    page = wizard.get_page()
    assert page.context["labels_form"]["missing"].value() == "n/a, skip"
    assert page.context["labels_form"]["similar"].value() == "join"
    assert "No problems found" in get_page_text(page)
    assert wizard.start_import().status_code == 302
    wizard.run_worker()
    (question,) = Project.objects.get().questions.all()
    labels = {category.label for category in question.active_categories()}
    assert labels == {"Yes", "no"}
    assert Rating.objects.count() == 4


def test_a_code_can_be_kept_as_a_label(new_project_wizard: WizardClient) -> None:
    wizard = new_project_wizard
    wizard.upload_and_validate(FILE.replace(b"Yes", b"yes"))
    wizard.client.post(wizard.run_url, {"action": "labels", "missing": ""})
    run = wizard.run_worker()
    assert run.mapping["not_missing"] == ["n/a"] and "missing" not in run.summary["skipped_records"]
    response = wizard.client.post(wizard.run_url, {"action": "labels", "missing": '"n/a'})
    assert response.status_code == 400
    assert "quotation mark isn't closed" in get_page_text(response)


def test_a_number_that_may_be_missing_is_asked_about(new_project_wizard: WizardClient) -> None:
    wizard = new_project_wizard
    wizard.upload_and_validate(b"item,rater,label\n1,a,1\n1,b,-99\n2,a,2\n2,b,3\n")
    assert "Missing values or labels" in get_page_text(wizard.get_page())
    assert wizard.start_import().status_code == 400
    wizard.client.post(wizard.run_url, {"action": "labels", "missing": "-99"})
    wizard.run_worker()
    # Whether bare numbers have an order is a question of its own.
    assert wizard.start_import(scale="ordinal").status_code == 302
    wizard.run_worker()
    assert Rating.objects.count() == 3


def test_alphabetical_order_is_stated(new_project_wizard: WizardClient) -> None:
    wizard = new_project_wizard
    wizard.upload_and_validate(b"item,rater,label\n1,a,cat\n1,b,dog\n2,a,bird\n2,b,bird\n")
    assert "On ordered scales, lowest first." in get_page_text(wizard.get_page())

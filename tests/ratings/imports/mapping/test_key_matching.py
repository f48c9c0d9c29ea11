"""Matching of raters of a file with members, and of its questions with those of the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from projects.models import Project, Rater
from tests.ratings.imports.test_command import import_with_scale as run_command
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    get_page_text,
    snapshot_import_tables,
)

pytestmark = pytest.mark.django_db

LABELS = ("none", "minor", "major")


@pytest.fixture
def wizard(project: Project, lead: Any, annotator: Any, client_for: Any) -> WizardClient:
    annotator.email = "Ann@example.org"
    annotator.save()
    return WizardClient(client_for(lead), project)


def build_label_studio_export(*answers: tuple[int, str, str], question: str = "sentiment") -> bytes:
    """Return a Label Studio export of (task, email, choice) answers."""
    export_tasks = []
    for task, email, label in answers:
        result = {
            "from_name": question,
            "to_name": "text",
            "type": "choices",
            "value": {"choices": [label]},
        }
        annotation = {"id": task, "completed_by": {"email": email}, "result": [result]}
        export_tasks.append({"id": task, "data": {"text": f"T{task}"}, "annotations": [annotation]})
    return json.dumps(export_tasks).encode()


EXPORT_FILE = build_label_studio_export(
    (1, "ann@example.org", "minor"), (2, "ben@example.org", "major")
)


def upload_and_validate(wizard: WizardClient, content: bytes = EXPORT_FILE) -> Any:
    assert wizard.upload(content, "export.json").status_code == 302
    wizard.choose_columns()
    return wizard.run_worker()


def test_member_is_suggested_by_email_and_accepted(wizard: WizardClient, project: Project) -> None:
    run = upload_and_validate(wizard)
    page = get_page_text(wizard.get_page())
    assert "One rater looks like a member." in page
    assert not run.mapping["members"]
    form = wizard.get_page().context["matching"]
    fields = {name: form[name].value() for name in form.fields}
    wizard.client.post(wizard.run_url, fields | {"action": "match"})
    run = wizard.run_worker()
    assert (run.state, run.summary["raters"], run.summary["new_raters"]) == ("checked", 2, 1)
    assert "looks like a member" not in get_page_text(wizard.get_page())
    wizard.start_import()
    wizard.run_worker()
    question = project.questions.get(key="sentiment")
    assert get_labels(question) == {("1", "ann"): "minor", ("2", "ben@example.org"): "major"}
    # The second import has no questions and changes nothing.
    before = snapshot_import_tables()
    assert upload_and_validate(wizard).summary["new_raters"] == 0
    wizard.start_import()
    assert wizard.run_worker().summary["outcome"]["unchanged"] == 2
    assert snapshot_import_tables() == before


def test_member_without_rater_becomes_the_rater_of_the_file(
    wizard: WizardClient, project: Project, viewer: Any
) -> None:
    upload_and_validate(wizard)
    form = wizard.get_page().context["matching"]
    fields = {name: form[name].value() for name in form.fields}
    (ben_field,) = [name for name, key in form.raters.items() if key == "ben@example.org"]
    wizard.client.post(wizard.run_url, fields | {ben_field: viewer.pk, "action": "match"})
    wizard.run_worker()
    wizard.start_import()
    wizard.run_worker()
    assert Rater.objects.get(project=project, user=viewer).key == "ben@example.org"


def test_only_members_can_be_chosen(wizard: WizardClient, stranger: Any) -> None:
    run = upload_and_validate(wizard)
    form = wizard.get_page().context["matching"]
    fields = {name: form[name].value() for name in form.fields}
    (ben_field,) = [name for name, key in form.raters.items() if key == "ben@example.org"]
    response = wizard.client.post(
        wizard.run_url, fields | {ben_field: stranger.pk, "action": "match"}
    )
    assert response.status_code == 400
    assert stranger.username not in get_page_text(response)
    assert wizard.run.mapping == run.mapping


def test_question_of_the_file_is_matched_to_the_project(
    wizard: WizardClient, project: Project, question: Any
) -> None:
    upload_and_validate(wizard)
    fields = {"question_0": "severity"}
    wizard.client.post(wizard.run_url, fields | {"action": "match"})
    assert wizard.run_worker().summary["questions"]["severity"]["exists"]
    wizard.start_import()
    wizard.run_worker()
    assert project.questions.count() == 1
    assert get_labels(question)["2", "ben@example.org"] == "major"
    # The match is stored for the next file of this tool.
    upload_and_validate(wizard, build_label_studio_export((3, "ben@example.org", "none")))
    wizard.start_import()
    wizard.run_worker()
    assert get_labels(question)["3", "ben@example.org"] == "none"


def test_question_of_the_file_is_renamed(wizard: WizardClient, project: Project) -> None:
    upload_and_validate(wizard)
    response = wizard.client.post(wizard.run_url, {"question_0": "no key", "action": "match"})
    assert response.status_code == 400
    wizard.client.post(wizard.run_url, {"question_0": "tone", "action": "match"})
    wizard.run_worker()
    wizard.start_import(text="How does it sound?")
    wizard.run_worker()
    new_question = project.questions.get(key="tone")
    assert new_question.text == "How does it sound?"
    assert len(get_labels(new_question)) == 2


def test_matching_on_the_command_line(
    wizard: WizardClient, project: Project, viewer: Any, tmp_path: Path
) -> None:
    file = tmp_path / "export.json"
    file.write_bytes(EXPORT_FILE)
    options = {"project": project.pk, "rename_question": ["sentiment=severity"]}
    rejected = run_command(file, **options, member=["ben@example.org=nobody"])
    assert rejected[0] == 1
    assert "'nobody' is no member; one of" in rejected[1]["problems"][0]["message"]
    status, _report = run_command(
        file, **options, match_raters=True, member=["ben@example.org=viewer"]
    )
    assert status == 0
    assert get_labels(project.questions.get()) == {
        ("1", "ann"): "minor",
        ("2", "ben@example.org"): "major",
    }
    assert Rater.objects.get(user=viewer).key == "ben@example.org"

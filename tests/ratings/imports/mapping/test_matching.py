"""Raters of a file who are members, and questions that the project calls differently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from projects.models import Project, Rater
from tests.ratings.imports.test_command import run as run_command
from tests.ratings.imports.wizard_client import Wizard, said, words, world

pytestmark = pytest.mark.django_db

LABELS = ("none", "minor", "major")


@pytest.fixture
def wizard(project: Project, lead: Any, annotator: Any, client_for: Any) -> Wizard:
    annotator.email = "Ann@example.org"
    annotator.save()
    return Wizard(client_for(lead), project)


def tasks(*answers: tuple[int, str, str], question: str = "sentiment") -> bytes:
    """A Label Studio export: (task, e-mail, choice)."""
    found = []
    for task, email, label in answers:
        result = {
            "from_name": question,
            "to_name": "text",
            "type": "choices",
            "value": {"choices": [label]},
        }
        annotation = {"id": task, "completed_by": {"email": email}, "result": [result]}
        found.append({"id": task, "data": {"text": f"T{task}"}, "annotations": [annotation]})
    return json.dumps(found).encode()


FILE = tasks((1, "ann@example.org", "minor"), (2, "ben@example.org", "major"))


def start(wizard: Wizard, content: bytes = FILE) -> Any:
    assert wizard.upload(content, "export.json").status_code == 302
    wizard.choose()
    return wizard.work()


def test_a_member_is_suggested_by_e_mail_and_taken_over(wizard: Wizard, project: Project) -> None:
    run = start(wizard)
    page = words(wizard.page())
    assert "One rater of the file has the e-mail address or the name of a member." in page
    assert not run.mapping["members"]
    form = wizard.page().context["matching"]
    fields = {name: form[name].value() for name in form.fields}
    wizard.client.post(wizard.address, fields | {"do": "match"})
    run = wizard.work()
    assert (run.state, run.summary["raters"], run.summary["new_raters"]) == ("checked", 2, 1)
    assert "has the e-mail address" not in words(wizard.page())
    wizard.start()
    wizard.work()
    question = project.questions.get(key="sentiment")
    assert said(question) == {("1", "ann"): "minor", ("2", "ben@example.org"): "major"}
    # the second time nothing is asked, and nothing changes
    before = world()
    assert start(wizard).summary["new_raters"] == 0
    wizard.start()
    assert wizard.work().summary["outcome"]["unchanged"] == 2
    assert world() == before


def test_a_member_who_never_rated_becomes_the_rater_of_the_file(
    wizard: Wizard, project: Project, viewer: Any
) -> None:
    start(wizard)
    form = wizard.page().context["matching"]
    fields = {name: form[name].value() for name in form.fields}
    (ben,) = [name for name, key in form.raters.items() if key == "ben@example.org"]
    wizard.client.post(wizard.address, fields | {ben: viewer.pk, "do": "match"})
    wizard.work()
    wizard.start()
    wizard.work()
    assert Rater.objects.get(project=project, user=viewer).key == "ben@example.org"


def test_nobody_but_members_can_be_chosen(wizard: Wizard, stranger: Any) -> None:
    run = start(wizard)
    form = wizard.page().context["matching"]
    fields = {name: form[name].value() for name in form.fields}
    (ben,) = [name for name, key in form.raters.items() if key == "ben@example.org"]
    response = wizard.client.post(wizard.address, fields | {ben: stranger.pk, "do": "match"})
    assert response.status_code == 400
    assert stranger.username not in words(response)
    assert wizard.run.mapping == run.mapping


def test_a_tools_question_is_one_of_the_project(
    wizard: Wizard, project: Project, question: Any
) -> None:
    start(wizard)
    fields = {"question_0": "severity"}
    wizard.client.post(wizard.address, fields | {"do": "match"})
    assert wizard.work().summary["questions"]["severity"]["known"]
    wizard.start()
    wizard.work()
    assert project.questions.count() == 1
    assert said(question)["2", "ben@example.org"] == "major"
    # the project remembers what this tool's question is called
    start(wizard, tasks((3, "ben@example.org", "none")))
    wizard.start()
    wizard.work()
    assert said(question)["3", "ben@example.org"] == "none"


def test_a_tools_question_is_renamed(wizard: Wizard, project: Project) -> None:
    start(wizard)
    refused = wizard.client.post(wizard.address, {"question_0": "no key", "do": "match"})
    assert refused.status_code == 400
    wizard.client.post(wizard.address, {"question_0": "tone", "do": "match"})
    wizard.work()
    wizard.start(text="How does it sound?")
    wizard.work()
    new = project.questions.get(key="tone")
    assert new.text == "How does it sound?"
    assert len(said(new)) == 2


def test_on_the_command_line(wizard: Wizard, project: Project, viewer: Any, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_bytes(FILE)
    told = {"project": project.pk, "rename_question": ["sentiment=severity"]}
    wrong = run_command(file, **told, member=["ben@example.org=nobody"])
    assert wrong[0] == 1
    assert "'nobody' is no member; one of" in wrong[1]["problems"][0]["message"]
    status, _told = run_command(file, **told, match_raters=True, member=["ben@example.org=viewer"])
    assert status == 0
    assert said(project.questions.get()) == {
        ("1", "ann"): "minor",
        ("2", "ben@example.org"): "major",
    }
    assert Rater.objects.get(user=viewer).key == "ben@example.org"

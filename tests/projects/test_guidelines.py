"""Guidelines and their versions."""

from __future__ import annotations

from typing import Any

import pytest

from projects.actions import change_project, create_project
from projects.models import GuidelineVersion, Project
from projects.question_rules import NewCategory, NewQuestion

pytestmark = pytest.mark.django_db


def versions(project: Project) -> list[tuple[int, str]]:
    return list(GuidelineVersion.objects.filter(project=project).values_list("number", "text"))


def test_other_guidelines_are_a_new_version(project: Project, lead: Any) -> None:
    assert (project.guidelines_version, versions(project)) == (0, [])
    for text in ("Look twice.", "Look twice.", "", "Look three times."):
        change_project(project=project, by=lead, guidelines=text)
    assert versions(project) == [(1, "Look twice."), (2, ""), (3, "Look three times.")]
    assert GuidelineVersion.objects.latest("number").by == lead
    project.refresh_from_db()
    assert (project.guidelines_version, project.guidelines) == (3, "Look three times.")


def test_other_settings_are_none(project: Project, lead: Any) -> None:
    change_project(project=project, by=lead, guidelines="Look twice.")
    change_project(project=project, by=lead, name="Reviews of films", time_zone="Asia/Shanghai")
    assert versions(project) == [(1, "Look twice.")]


def test_a_new_project_begins_with_version_1(lead: Any) -> None:
    questions = [NewQuestion(key="q", text="?", categories=[NewCategory("a"), NewCategory("b")])]
    with_text = create_project(by=lead, name="A", guidelines="Look.", questions=questions)
    without = create_project(by=lead, name="B", questions=questions)
    assert (versions(with_text), versions(without)) == ([(1, "Look.")], [])


def test_the_page_makes_no_version_of_its_own_line_ends(client_for: Any, project: Project, lead: Any) -> None:
    change_project(project=project, by=lead, guidelines="# Rules\n\n- one\n- two\n")
    client = client_for(lead)
    shown = client.get(f"/projects/{project.pk}/setup/").context["form"]
    sent = {name: shown[name].value() for name in shown.fields}
    typed = {**sent, "guidelines": sent["guidelines"].replace("\n", "\r\n")}
    assert client.post(f"/projects/{project.pk}/setup/", typed).status_code == 302
    assert len(versions(project)) == 1

"""Guidelines and their versions."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from projects.guidelines import MAX_CHANGED_LINES, compare_versions, render_markdown
from projects.models import GuidelineVersion, Project
from projects.services.projects import change_project, create_project
from projects.services.question_validation import NewCategory, NewQuestion

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


def test_the_page_makes_no_version_of_its_own_line_ends(
    client_for: Any, project: Project, lead: Any
) -> None:
    change_project(project=project, by=lead, guidelines="# Rules\n\n- one\n- two\n")
    client = client_for(lead)
    shown = client.get(f"/projects/{project.pk}/setup/").context["form"]
    sent = {name: shown[name].value() for name in shown.fields}
    typed = {**sent, "guidelines": sent["guidelines"].replace("\n", "\r\n")}
    assert client.post(f"/projects/{project.pk}/setup/", typed).status_code == 302
    assert len(versions(project)) == 1


# --- the pages


@pytest.fixture
def rewritten(project: Project, lead: Any) -> Project:
    for text in ("# Rules\n\nLook twice.", "# Rules\n\nLook *three* times."):
        change_project(project=project, by=lead, guidelines=text)
    return project


@pytest.mark.parametrize("name", ["lead", "annotator", "viewer"])
def test_every_member_reads_them_and_their_history(
    client_for: Any, make_user: Any, request: Any, name: str
) -> None:
    project = request.getfixturevalue("rewritten")
    client = client_for(request.getfixturevalue(name))
    now = client.get(f"/projects/{project.pk}/guidelines/").content.decode()
    assert "Version 2, in force now" in now
    assert "<p>Look <em>three</em> times.</p>" in now
    assert "<del>Look twice.</del>" in now
    assert "<ins>Look *three* times.</ins>" in now
    old = client.get(f"/projects/{project.pk}/guidelines/1/").content.decode()
    assert "Version 1, no longer in force" in old
    assert "<p>Look twice.</p>" in old


def test_nobody_else_does_and_nobody_changes_the_old(
    client_for: Any, client: Any, rewritten: Project, lead: Any, stranger: Any
) -> None:
    for page in ("", "1/"):
        address = f"/projects/{rewritten.pk}/guidelines/{page}"
        assert client_for(stranger).get(address).status_code == 404
        assert client.get(address).status_code == 302
        assert client_for(lead).post(address, {"text": "x"}).status_code == 405
    assert client_for(lead).get(f"/projects/{rewritten.pk}/guidelines/3/").status_code == 404


def test_guidelines_of_another_project_are_not_found(
    client_for: Any, make_project: Any, rewritten: Project, lead: Any
) -> None:
    other = create_project(
        by=lead,
        name="Other",
        questions=[NewQuestion(key="q", text="?", categories=[NewCategory("a"), NewCategory("b")])],
    )
    assert client_for(lead).get(f"/projects/{other.pk}/guidelines/1/").status_code == 404


def test_an_open_desk_asks_for_what_is_newer(
    client_for: Any, rewritten: Project, annotator: Any
) -> None:
    client = client_for(annotator)
    address = f"/projects/{rewritten.pk}/guidelines/"
    assert client.get(address, {"known": "2"}).status_code == 204
    assert 'data-version="2"' in client.get(address, {"known": "1"}).content.decode()


def test_none_were_written(client_for: Any, project: Project, annotator: Any) -> None:
    page = client_for(annotator).get(f"/projects/{project.pk}/guidelines/").content.decode()
    assert "not written guidelines yet" in page


def test_the_preview_is_what_raters_see(
    client_for: Any, project: Project, lead: Any, annotator: Any
) -> None:
    text = "# One\n\n## Two\n\n![a](/media/a.png) ![b](https://elsewhere.example/b.png)\n\n|a|\n|-|\n|~~b~~|\n"
    preview = (
        client_for(lead)
        .post("/projects/guidelines-preview/", {"guidelines": text})
        .content.decode()
        .strip()
    )
    assert "<h3>Two</h3>" in preview
    change_project(project=project, by=lead, guidelines=text)
    for page in ("guidelines/", "rate/"):
        assert (
            preview in client_for(annotator).get(f"/projects/{project.pk}/{page}").content.decode()
        )


# --- texts that nobody writes by hand


def test_what_changed_is_said_by_whole_lines() -> None:
    old, new = "a\nb\nc\nd\ne", "a\nx\nc\ny\nz\ne"
    assert compare_versions(old, new) == [
        ("same", "a"),
        ("out", "b"),
        ("in", "x"),
        ("same", "c"),
        ("out", "d"),
        ("in", "y"),
        ("in", "z"),
        ("same", "e"),
    ]
    assert compare_versions("", "a") == [("in", "a")]
    assert compare_versions("a\na", "a") == [("same", "a"), ("out", "a")]


def test_lines_are_compared_as_wholes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is alike within two lines is never looked for: of 800 lines that took half a minute."""
    lines = [
        f"{number}. the very same words of a rule that was renumbered" for number in range(801)
    ]
    compared = 0

    class Counted(difflib.SequenceMatcher):
        def __init__(self, *arguments: Any) -> None:
            nonlocal compared
            compared += 1
            super().__init__(*arguments)

    monkeypatch.setattr(difflib, "SequenceMatcher", Counted)
    changes = compare_versions("\n".join(lines[:800]), "\n".join(lines[1:]))
    assert compared == 1
    assert changes is not None and len(changes) == 801


def test_too_much_changed_is_said_so(client_for: Any, project: Project, lead: Any) -> None:
    for word in ("old", "new"):
        text = "\n".join(f"{word} {number}" for number in range(MAX_CHANGED_LINES))
        change_project(project=project, by=lead, guidelines=text)
    page = client_for(lead).get(f"/projects/{project.pk}/guidelines/")
    assert "Version 2 changed too many lines to list them." in page.content.decode()


@pytest.mark.parametrize("text", ["![" * 100_000, "a|" * 100_000])
def test_a_text_that_would_take_seconds_is_shown_as_it_stands(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.guidelines._get_parser", None)  # nobody parses it
    assert render_markdown(text) == f"<pre>{text}</pre>"

"""Guidelines and their versions."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
from django.utils.html import escape

from projects import guidelines
from projects.guidelines import MAX_CHANGED_LINES, compare_versions, render_markdown
from projects.models import GuidelineVersion, Project
from projects.services.projects import change_project, create_project
from projects.services.question_validation import NewCategory, NewQuestion

pytestmark = pytest.mark.django_db


def list_versions(project: Project) -> list[tuple[int, str]]:
    return list(GuidelineVersion.objects.filter(project=project).values_list("number", "text"))


def test_changed_guidelines_create_a_version(project: Project, lead: Any) -> None:
    assert (project.guidelines_version, list_versions(project)) == (0, [])
    for text in ("Look twice.", "Look twice.", "", "Look three times."):
        change_project(project=project, by=lead, guidelines=text)
    assert list_versions(project) == [(1, "Look twice."), (2, ""), (3, "Look three times.")]
    assert GuidelineVersion.objects.latest("number").by == lead
    project.refresh_from_db()
    assert (project.guidelines_version, project.guidelines) == (3, "Look three times.")


def test_other_settings_create_no_guidelines_version(project: Project, lead: Any) -> None:
    change_project(project=project, by=lead, guidelines="Look twice.")
    change_project(project=project, by=lead, name="Reviews of films", time_zone="Asia/Shanghai")
    assert list_versions(project) == [(1, "Look twice.")]


def test_a_new_project_begins_with_version_1(lead: Any) -> None:
    questions = [NewQuestion(key="q", text="?", categories=[NewCategory("a"), NewCategory("b")])]
    with_text = create_project(by=lead, name="A", guidelines="Look.", questions=questions)
    without = create_project(by=lead, name="B", questions=questions)
    assert (list_versions(with_text), list_versions(without)) == ([(1, "Look.")], [])


def test_browser_line_endings_create_no_version(
    client_for: Any, project: Project, lead: Any
) -> None:
    change_project(project=project, by=lead, guidelines="# Rules\n\n- one\n- two\n")
    client = client_for(lead)
    form = client.get(f"/projects/{project.pk}/settings/guidelines/").context["form"]
    form_data = {name: form[name].value() for name in form.fields}
    form_data_with_crlf = {**form_data, "guidelines": form_data["guidelines"].replace("\n", "\r\n")}
    assert (
        client.post(f"/projects/{project.pk}/settings/guidelines/", form_data_with_crlf).status_code
        == 302
    )
    assert len(list_versions(project)) == 1


# --- the pages


@pytest.fixture
def versioned_project(project: Project, lead: Any) -> Project:
    for text in ("# Rules\n\nLook twice.", "# Rules\n\nLook *three* times."):
        change_project(project=project, by=lead, guidelines=text)
    return project


@pytest.mark.parametrize("name", ["lead", "annotator", "viewer"])
def test_every_member_reads_guidelines_and_their_history(
    client_for: Any, make_user: Any, request: Any, name: str
) -> None:
    project = request.getfixturevalue("versioned_project")
    client = client_for(request.getfixturevalue(name))
    current_page = client.get(f"/projects/{project.pk}/guidelines/").content.decode()
    assert "Version 2 (current)" in current_page
    assert "<p>Look <em>three</em> times.</p>" in current_page
    assert "<del>Look twice.</del>" in current_page
    assert "<ins>Look *three* times.</ins>" in current_page
    old_page = client.get(f"/projects/{project.pk}/guidelines/1/").content.decode()
    assert "Version 1" in old_page
    assert "<p>Look twice.</p>" in old_page


def test_only_members_read_and_nobody_edits_old_versions(
    client_for: Any, client: Any, versioned_project: Project, lead: Any, stranger: Any
) -> None:
    for page in ("", "1/"):
        address = f"/projects/{versioned_project.pk}/guidelines/{page}"
        assert client_for(stranger).get(address).status_code == 404
        assert client.get(address).status_code == 302
        assert client_for(lead).post(address, {"text": "x"}).status_code == 405
    assert (
        client_for(lead).get(f"/projects/{versioned_project.pk}/guidelines/3/").status_code == 404
    )


def test_guidelines_of_another_project_are_not_found(
    client_for: Any, make_project: Any, versioned_project: Project, lead: Any
) -> None:
    other = create_project(
        by=lead,
        name="Other",
        questions=[NewQuestion(key="q", text="?", categories=[NewCategory("a"), NewCategory("b")])],
    )
    assert client_for(lead).get(f"/projects/{other.pk}/guidelines/1/").status_code == 404


def test_open_annotation_page_polls_for_a_newer_version(
    client_for: Any, versioned_project: Project, annotator: Any
) -> None:
    client = client_for(annotator)
    address = f"/projects/{versioned_project.pk}/guidelines/"
    assert client.get(address, {"version": "2"}).status_code == 204
    assert 'data-version="2"' in client.get(address, {"version": "1"}).content.decode()


def test_missing_guidelines_show_an_empty_state(
    client_for: Any, project: Project, annotator: Any
) -> None:
    page = client_for(annotator).get(f"/projects/{project.pk}/guidelines/").content.decode()
    assert "There are no guidelines yet" in page


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


# --- extreme texts


def test_changes_are_listed_by_whole_lines() -> None:
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


def test_lines_are_compared_as_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text within two lines is never compared: for 800 lines that took half a minute."""
    lines = [
        f"{number}. the very same words of a rule that was renumbered" for number in range(801)
    ]
    n_comparisons = 0

    class CountingMatcher(difflib.SequenceMatcher):
        def __init__(self, *arguments: Any) -> None:
            nonlocal n_comparisons
            n_comparisons += 1
            super().__init__(*arguments)

    monkeypatch.setattr(difflib, "SequenceMatcher", CountingMatcher)
    changes = compare_versions("\n".join(lines[:800]), "\n".join(lines[1:]))
    assert n_comparisons == 1
    assert changes is not None and len(changes) == 801


def test_too_many_changed_lines_show_a_note(client_for: Any, project: Project, lead: Any) -> None:
    for word in ("old", "new"):
        text = "\n".join(f"{word} {number}" for number in range(MAX_CHANGED_LINES))
        change_project(project=project, by=lead, guidelines=text)
    page = client_for(lead).get(f"/projects/{project.pk}/guidelines/")
    assert "Too many changes to list." in page.content.decode()


TABLE_HEAD = "|a" * 60 + "|\n" + "|-" * 60 + "|\n"
SHORT_ROWS_TABLE = TABLE_HEAD + "x\n" * 340  # a short row gets all columns


@pytest.mark.parametrize(
    "text",
    [
        "![" * 100_000,
        "a|" * 100_000,
        (TABLE_HEAD + "x\n" * 1_080 + "\n") * 12,
        SHORT_ROWS_TABLE,
        SHORT_ROWS_TABLE.replace("\n", "\r\n"),
        "> " + SHORT_ROWS_TABLE.replace("\n", "\n> "),
        "* " + SHORT_ROWS_TABLE.replace("\n", "\n  "),
    ],
)
def test_slow_text_is_shown_unrendered(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.guidelines._get_parser", None)  # never parsed
    assert render_markdown(text) == f"<pre>{escape(text)}</pre>"


def test_cells_that_rows_leave_out_are_counted() -> None:
    n_rows = 250
    html = render_markdown(TABLE_HEAD + "x\n" * n_rows + "\n" + "A | line\n---\n" * 50)
    assert html.count("<td>") == 60 * n_rows < guidelines.MAX_TABLE_CELLS


def test_long_guidelines_are_rendered() -> None:
    text = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3_000
    assert render_markdown(text).count("<td>") == 6_000  # more tags than an item's HTML may have


def test_previews_are_not_kept_and_long_texts_only_a_few(
    client_for: Any, project: Project, lead: Any
) -> None:
    for cache in (guidelines._render_usual, guidelines._render_long):
        cache.cache_clear()
    response = client_for(lead).post("/projects/guidelines-preview/", {"guidelines": "**bold**"})
    assert "<strong>bold</strong>" in response.text
    assert guidelines._render_usual.cache_info().currsize == 0
    render_markdown("short")
    assert guidelines._render_usual.cache_info().currsize == 1
    for number in range(20):
        render_markdown(f"{number} " + "x" * guidelines.USUAL_LENGTH)
    assert guidelines._render_long.cache_info().currsize == 8
    assert guidelines._render_usual.cache_info().currsize == 1

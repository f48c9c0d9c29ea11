"""The import wizard through HTTP, from the upload to the summary."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from projects.models import Item, Member, Project, Rater
from ratings import tasks
from ratings.imports import jobs, uploads
from ratings.imports.wizard import upload_views
from ratings.models import Apart, Assignment, ImportRun, Rating, Revision
from tests.ratings.imports.wizard_client import Wizard, said, stored, words, world

LONG = b"item,rater,label\ni1,ann,minor\ni1,ben,major\ni2,ann,none\n"
WIDE = b"item,ann,ben,chris\ni1,minor,major,\ni2,none,,none\ni3,,,\n"


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any) -> Wizard:
    """Into the project of ``lead``."""
    return Wizard(client_for(lead), project)


@pytest.fixture
def newcomer(lead: Any, client_for: Any) -> Wizard:
    """A file becomes a project."""
    return Wizard(client_for(lead))


# --- the whole way ---------------------------------------------------------------------------------


def test_long_file_into_existing_project(wizard: Wizard, question: Any) -> None:
    run = wizard.all(LONG)

    assert run.state == "done"
    assert said(question) == {("i1", "ann"): "minor", ("i1", "ben"): "major", ("i2", "ann"): "none"}
    assert run.summary["outcome"] == {
        "created": 3,
        "changed": 0,
        "unchanged": 0,
        "items": 2,
        "raters": 1,
    }
    assert set(Revision.objects.values_list("source", "by__username")) == {("import", "lead")}
    page = words(wizard.page())
    assert f"/projects/{question.project_id}/?question=severity" in page


def test_pasted_lines_are_items_and_the_same_again_changes_nothing(
    wizard: Wizard, project: Project
) -> None:
    for lines in ("Great, really!\r\n\r\nNie wieder.\r\n", "Nie wieder.\nGreat, really!\nOne more"):
        assert wizard.paste(lines).status_code == 302
        wizard.choose()
        wizard.work()
        wizard.start()
        assert wizard.work().state == "done"
    texts = Item.objects.filter(project=project).order_by("pk").values_list("body", flat=True)
    assert sorted(body["text"] for body in texts) == ["Great, really!", "Nie wieder.", "One more"]
    assert set(Item.objects.values_list("version", flat=True)) == {1}


def test_a_pasted_table_is_read_as_a_file(wizard: Wizard, question: Any) -> None:
    wizard.paste(LONG.decode(), shape="table")
    assert wizard.run.file_name == "pasted"
    wizard.choose()
    wizard.work()
    wizard.start()
    assert wizard.work().state == "done"
    assert said(question) == {("i1", "ann"): "minor", ("i1", "ben"): "major", ("i2", "ann"): "none"}


def test_a_file_or_what_is_pasted(wizard: Wizard, project: Project) -> None:
    both = {"file": SimpleUploadedFile("a.csv", LONG)}
    refused = (
        (wizard.paste("a text", **both), "one of them at a time"),
        (wizard.paste(" \n "), "Choose a file, or paste"),
        (wizard.paste("a", shape="odd"), "odd is not one of the available choices"),
    )
    for response, reason in refused:
        assert response.status_code == 400
        assert reason in words(response)
    assert not ImportRun.objects.exists()


def test_wide_file_into_existing_project(wizard: Wizard, question: Any) -> None:
    wizard.all(WIDE)

    assert said(question) == {
        ("i1", "ann"): "minor",
        ("i1", "ben"): "major",
        ("i2", "ann"): "none",
        ("i2", "chris"): "none",
    }
    assert not Item.objects.filter(key="i3").exists()  # nobody rated it


def test_file_becomes_project(newcomer: Wizard, lead: Any) -> None:
    newcomer.check(
        LONG.replace(b"none", b"critical"),
        project_name="From a file",
        question_key="q",
        question_text="How bad?",
    )
    assert Project.objects.count() == 0
    newcomer.start()
    newcomer.work()

    project = Project.objects.get(name="From a file")
    question = project.questions.get()
    assert [category.label for category in question.active_categories()] == [
        "minor",
        "major",
        "critical",
    ]
    assert (question.key, question.text, question.scale) == ("q", "How bad?", "ordinal")
    assert said(question)["i2", "ann"] == "critical"
    assert project.members.get().role == Member.Role.LEAD
    assert newcomer.address.startswith(f"/projects/{project.pk}/data/import/")
    assert newcomer.page().status_code == 200


@pytest.mark.parametrize(("typed", "zone"), [("asia/tokyo ", "Asia/Tokyo"), ("", "UTC")])
def test_a_new_project_has_the_zone_of_its_lead(newcomer: Wizard, typed: str, zone: str) -> None:
    newcomer.all(LONG, time_zone=typed)
    assert Project.objects.get().time_zone == zone


def test_a_zone_that_nobody_knows_is_refused(newcomer: Wizard) -> None:
    newcomer.upload(LONG)
    refused = newcomer.choose(time_zone="Tokio")
    assert refused.status_code == 400
    assert "&#x27;Tokio&#x27; is no time zone" in refused.text
    assert newcomer.run.state == "mapping"


def test_categories_are_the_leads_to_order_and_add(newcomer: Wizard) -> None:
    newcomer.check(b"item,rater,label\na,r,yellow\na,s,green\n")
    assert newcomer.page().context["form"]["categories"].value() == "green\nyellow"
    newcomer.start(scale="ordinal", categories="yellow\r\ngreen\r\nred\r\n")
    newcomer.work()

    question = Project.objects.get().questions.get()
    assert [category.label for category in question.active_categories()] == [
        "yellow",
        "green",
        "red",
    ]
    assert said(question) == {("a", "r"): "yellow", ("a", "s"): "green"}


@pytest.mark.parametrize(
    ("labels", "guessed"), [(["1", "2", "3"], True), (["green", "yellow"], False)]
)
def test_a_guessed_order_is_called_a_guess(
    newcomer: Wizard, labels: list[str], guessed: bool
) -> None:
    rows = [f"i{number},ann,{label}" for number, label in enumerate(labels)]
    newcomer.check("\n".join(["item,rater,label", *rows]).encode())
    said_so = "A guess: the answers look as if they had an order" in newcomer.page().text
    assert said_so is guessed


@pytest.mark.parametrize(
    ("categories", "complaint"),
    [("green\nred", "yellow"), ("green\nyellow\ngreen", "green"), ("", "This field is required")],
)
def test_wrong_categories_are_refused(newcomer: Wizard, categories: str, complaint: str) -> None:
    newcomer.check(b"item,rater,label\na,r,yellow\na,s,green\n")
    before = world()
    response = newcomer.start(categories=categories)

    assert response.status_code == 400
    assert complaint in words(response)
    assert world() == before
    assert newcomer.run.state == "checked"


def test_scale_that_needs_numbers_is_refused_for_words(newcomer: Wizard) -> None:
    newcomer.check(b"item,rater,label\na,r,yellow\na,s,green\n")
    response = newcomer.start(scale="interval")

    assert response.status_code == 400
    assert "needs a value" in words(response)
    assert Project.objects.count() == 0


def test_one_label_alone_is_no_scale(newcomer: Wizard) -> None:
    newcomer.check(b"item,rater,label\na,r,yes\na,s,yes\n")
    response = newcomer.start()

    assert response.status_code == 400
    assert "two categories" in words(response)
    assert newcomer.start(categories="yes\nno").status_code == 302


def test_numeric_labels_bring_their_values(newcomer: Wizard) -> None:
    newcomer.check(b"item,rater,label\na,r,10\na,s,2\nb,r,-1\n")
    newcomer.start(scale="interval")

    categories = Project.objects.get().questions.get().active_categories()
    assert [(category.label, category.value) for category in categories] == [
        ("-1", -1),
        ("2", 2),
        ("10", 10),
    ]


def test_new_question_in_existing_project(wizard: Wizard, project: Project) -> None:
    wizard.check(
        b"item,rater,tone\na,r,kind\na,s,rude\n",
        label="2",
        target="new",
        question_key="tone",
        question_text="Tone?",
    )
    wizard.start()
    wizard.work()

    assert said(project.questions.get(key="tone")) == {("a", "r"): "kind", ("a", "s"): "rude"}
    assert project.questions.count() == 2


def test_taken_question_key_is_refused(wizard: Wizard) -> None:
    wizard.upload(LONG)
    response = wizard.choose(target="new", question_key="severity", question_text="Again?")

    assert response.status_code == 400
    assert "with this key already" in words(response)


# --- columns ---------------------------------------------------------------------------------------


def test_columns_page_shows_the_first_rows_and_guesses(wizard: Wizard) -> None:
    wizard.upload(b"worker;severity;doc\nw1;major;<b>d1</b>\n")
    page = wizard.page()
    form = page.context["form"]

    assert (form["item"].value(), form["rater"].value(), form["label"].value()) == (2, 0, 1)
    assert page.context["reading"]["delimiter"].value() == ";"
    assert b"&lt;b&gt;d1&lt;/b&gt;" in page.content


def test_missing_choice_of_column_is_named(wizard: Wizard) -> None:
    wizard.upload(b"x,y,z\na,b,c\n")
    assert "No column has a name that is known. The first line reads: x, y, z." in words(
        wizard.page()
    )
    response = wizard.choose(item="0", rater="1", label="", layout="long")

    assert response.status_code == 400
    assert "Choose the column of this." in words(response)
    assert wizard.run.state == "mapping"


def test_one_column_cannot_be_two_things(wizard: Wizard) -> None:
    wizard.upload(LONG)
    response = wizard.choose(rater="0")

    assert response.status_code == 400
    assert "chosen as 'Item' already" in words(response)


def test_wide_without_raters_is_refused(wizard: Wizard) -> None:
    wizard.upload(WIDE)
    response = wizard.choose(leave_out=["1", "2", "3"])

    assert response.status_code == 400
    assert "No column is left" in words(response)


def test_delimiter_can_be_chosen(wizard: Wizard, question: Any) -> None:
    wizard.upload(b"item|rater|label,x\ni1|ann|minor\n")
    wizard.client.post(wizard.address, {"do": "read", "encoding": "utf-8-sig", "delimiter": ","})
    assert wizard.page().context["look"].names == ["item|rater|label", "x"]
    wizard.client.post(wizard.address, {"do": "read", "encoding": "utf-8-sig", "delimiter": "|"})
    assert wizard.page().context["look"].names == ["item", "rater", "label,x"]


def test_export_with_several_questions_imports_the_rows_of_one(
    wizard: Wizard, question: Any
) -> None:
    content = b"item,rater,question,label\ni1,ann,severity,minor\ni1,ann,tone,kind\n"
    run = wizard.all(content)

    assert said(question) == {("i1", "ann"): "minor"}
    assert run.summary["of_other_questions"] == 1


# --- repeats ---------------------------------------------------------------------------------------

REPEATS = (
    b"item,rater,label\ni1,ann,minor\ni2,ann,none\ni1,ben,none\ni1,ann,major\ni1,ann,critical\n"
)


@pytest.mark.parametrize(("stands", "label"), [("last", "critical"), ("first", "minor")])
def test_repeats_go_to_the_history(wizard: Wizard, question: Any, stands: str, label: str) -> None:
    run = wizard.check(REPEATS)
    assert run.summary["repeats"] == 2
    assert run.summary["repeat_examples"][0] == ["i1", "ann", 2, "minor", 5, "major"]
    assert "2 rows repeat" in words(wizard.page())
    wizard.start(stands=stands)
    wizard.work()

    assert said(question)["i1", "ann"] == label
    rating = Rating.objects.get(item__key="i1", rater__key="ann")
    labels = dict(question.categories.values_list("code", "label"))
    history = [
        (labels[code], superseded)
        for code, superseded in rating.revisions.values_list("code", "superseded")
    ]
    others = [text for text in ("minor", "major", "critical") if text != label]
    assert history == [(other, True) for other in others] + [(label, False)]


def apart() -> list[tuple[str, str, str, int | None, int, bool]]:
    columns = ("item__key", "rater__key", "why", "first", "code", "stands")
    return list(Apart.objects.order_by("pk").values_list(*columns))


def test_the_second_row_can_be_kept_as_a_repeat(wizard: Wizard, question: Any) -> None:
    codes = dict(question.categories.values_list("label", "code"))
    kept = [("i1", "ann", "repeat", codes["minor"], codes["major"], True)]
    for _twice in range(2):
        wizard.check(REPEATS)
        assert "a judgement of its own" in words(wizard.page())
        wizard.start(stands="repeat")
        run = wizard.work()
        assert said(question)["i1", "ann"] == "minor"
        assert apart() == kept
    rating = Rating.objects.get(item__key="i1", rater__key="ann")
    history = list(rating.revisions.values_list("code", "superseded"))
    assert history == [(codes["critical"], True), (codes["minor"], False)], "the third row"
    assert run.summary["outcome"].get("repeats", 0) == 0
    assert Rating.objects.count() == 3 and not Assignment.objects.filter(why="repeat").exists()


def test_what_a_second_file_says_again_can_be_kept_as_a_repeat(
    wizard: Wizard, question: Any
) -> None:
    """A model that ran twice: what stands is what the project had."""
    codes = dict(question.categories.values_list("label", "code"))
    head = b"item,rater,label,timestamp\n"
    wizard.check(head + b"i1,gpt,minor,\ni2,gpt,none,\n")
    assert "stands" not in wizard.page().context["form"].fields, "nothing could be said again"
    wizard.start()
    wizard.work()
    second = b"i1,gpt,major,2026-03-01T09:30:00Z\ni2,gpt,none,\ni3,gpt,none,\n"
    wizard.check(head + second)
    offered = [name for name, _words in wizard.page().context["form"].fields["stands"].choices]
    assert offered == ["last", "first", "repeat", "again"]
    wizard.start(stands="again")
    run = wizard.work()
    assert said(question) == {
        ("i1", "gpt"): "minor",
        ("i2", "gpt"): "none",
        ("i3", "gpt"): "none",
    }
    assert apart() == [
        ("i1", "gpt", "repeat", codes["minor"], codes["major"], True),
        ("i2", "gpt", "repeat", codes["none"], codes["none"], True),
    ]
    assert Apart.objects.earliest("pk").rated_at.isoformat() == "2026-03-01T09:30:00+00:00"
    assert run.summary["outcome"]["repeats"] == 2
    assert "Kept as repeats" in words(wizard.page())


@pytest.mark.parametrize("content", [LONG, WIDE, REPEATS])
def test_same_file_twice_changes_nothing(wizard: Wizard, content: bytes) -> None:
    wizard.all(content)
    before = world()
    run = wizard.all(content)

    assert world() == before
    assert run.summary["outcome"]["created"] == run.summary["outcome"]["changed"] == 0


def test_same_file_with_times_and_comments_twice_changes_nothing(wizard: Wizard) -> None:
    content = (
        b"item,rater,label,timestamp,comment\n"
        b"i1,ann,minor,2026-03-01T09:30:00+02:00,=SUM(A1)\n"
        b'i1,ben,major,,"two\r\nlines"\n'
    )
    wizard.all(content)
    before = world()
    wizard.all(content)

    assert world() == before
    rating = Rating.objects.get(rater__key="ann")
    assert (rating.rated_at.isoformat(), rating.comment) == (
        "2026-03-01T07:30:00+00:00",
        "=SUM(A1)",
    )


def test_changed_label_is_a_change_with_history(wizard: Wizard, question: Any) -> None:
    wizard.all(LONG)
    run = wizard.all(LONG.replace(b"i1,ann,minor", b"i1,ann,critical"))

    assert run.summary["outcome"] == {
        "created": 0,
        "changed": 1,
        "unchanged": 2,
        "items": 0,
        "raters": 0,
    }
    assert said(question)["i1", "ann"] == "critical"
    assert Rating.objects.get(item__key="i1", rater__key="ann").revisions.count() == 2


# --- items and raters that are not known -----------------------------------------------------------


def test_unknown_items_and_raters_are_problems_when_not_to_be_made(
    wizard: Wizard, project: Project
) -> None:
    Item.objects.create(project=project, key="i1")
    before = world()
    run = wizard.check(LONG, make_new="")

    assert run.state == "refused"
    assert [(p["kind"], p["line"], p["values"]["value"]) for p in run.problems] == [
        ("item_unknown", 4, "i2"),
        ("rater_unknown", 3, "ben"),
    ]
    assert "'i2' is no item of this project" in words(wizard.page())
    assert world() == before


def test_known_items_and_raters_are_used(wizard: Wizard, project: Project, question: Any) -> None:
    for key in ("i1", "i2"):
        Item.objects.create(project=project, key=key)
    Rater.objects.create(project=project, key="ben")
    wizard.all(LONG, make_new="")

    assert len(said(question)) == 3
    assert Item.objects.count() == 2


# --- uploads ---------------------------------------------------------------------------------------


def test_packed_file_is_unpacked(wizard: Wizard, question: Any) -> None:
    assert wizard.upload(gzip.compress(LONG), "ratings.csv.gz").status_code == 302
    wizard.choose()
    wizard.work()
    wizard.start()
    wizard.work()
    assert len(said(question)) == 3


def test_file_name_is_shown_and_never_used(wizard: Wizard) -> None:
    name = "..\\..\\etc/pass<b>\u202ewd\n" + 300 * "x" + ".csv"
    assert wizard.upload(LONG, name).status_code == 302
    run = wizard.run
    assert run.path.startswith("imports/")
    assert "\u202e" not in run.file_name and len(run.file_name) <= 200
    assert "<b>" not in wizard.page().content.decode()


def test_files_are_gone_after_the_import(wizard: Wizard) -> None:
    before = stored()
    wizard.all(LONG)
    assert stored() == before


def test_discard_removes_run_and_file(wizard: Wizard) -> None:
    before = stored()
    wizard.check(LONG)
    assert len(stored() - before) == 2
    response = wizard.client.post(wizard.address, {"do": "discard"})

    assert response.status_code == 302
    assert not ImportRun.objects.exists()
    assert stored() == before


def test_reopened_columns_can_be_chosen_again(wizard: Wizard, question: Any) -> None:
    run = wizard.check(b"item,rater,label,other\ni1,ann,wrong,minor\n")
    assert run.state == "refused"
    wizard.client.post(wizard.address, {"do": "reopen"})
    assert wizard.page().context["form"]["label"].value() == 2
    wizard.choose(label="3")
    assert wizard.work().state == "checked"


def test_unknown_step_is_refused(wizard: Wizard) -> None:
    wizard.upload(LONG)
    assert wizard.client.post(wizard.address, {"do": "explode"}).status_code == 400


@pytest.mark.parametrize("step", ["columns", "start", "again", "reopen", "discard"])
def test_steps_of_another_state_change_nothing(wizard: Wizard, step: str) -> None:
    wizard.all(LONG)
    before = world()
    response = wizard.client.post(wizard.address, {"do": step}, follow=True)

    assert response.status_code == 200
    assert wizard.run.state == "done"
    assert world() == before


# --- progress --------------------------------------------------------------------------------------


def test_progress_is_asked_for_until_the_step_is_over(wizard: Wizard) -> None:
    wizard.upload(LONG)
    wizard.choose()
    page = wizard.page()
    assert b"Checking the whole file" in page.content and b"Refresh" in page.content
    fragment = wizard.client.get(page.context["progress"])
    assert fragment.status_code == 200 and "HX-Refresh" not in fragment
    wizard.work()
    assert wizard.client.get(page.context["progress"])["HX-Refresh"] == "true"


def test_sweep_takes_up_what_no_message_announced(wizard: Wizard, question: Any) -> None:
    wizard.upload(LONG)
    wizard.choose()
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "checked"
    wizard.start()
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "done"
    assert tasks.resume_stalled() == 0
    assert len(said(question)) == 3


def test_data_page_lists_imports(wizard: Wizard, project: Project) -> None:
    wizard.all(LONG)
    page = words(wizard.client.get(f"/projects/{project.pk}/data/"))
    assert "ratings.csv" in page
    assert "export.csv?question=severity" in page


# --- who may ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "import_status", "data_status"),
    [("stranger", 404, 404), ("annotator", 403, 403), ("viewer", 403, 200)],
)
def test_only_leads_import(
    wizard: Wizard,
    project: Project,
    client_for: Any,
    request: Any,
    name: str,
    import_status: int,
    data_status: int,
) -> None:
    wizard.check(LONG)
    client = client_for(request.getfixturevalue(name))
    for address in (wizard.entrance, wizard.address, f"{wizard.address}progress/"):
        assert client.get(address).status_code == import_status
    before = world()
    for step in ("start", "columns", "reopen", "again", "discard", "read"):
        assert client.post(wizard.address, {"do": step}).status_code == import_status
    assert (
        client.post(wizard.entrance, {"file": SimpleUploadedFile("a.csv", LONG)}).status_code
        == import_status
    )
    assert client.get(f"/projects/{project.pk}/data/").status_code == data_status
    assert world() == before
    assert wizard.run.state == "checked"
    assert ImportRun.objects.count() == 1


def test_run_without_project_is_its_makers_alone(
    newcomer: Wizard, client_for: Any, viewer: Any
) -> None:
    newcomer.check(LONG)
    assert newcomer.page().status_code == 200
    assert client_for(viewer).get(newcomer.address).status_code == 404
    assert client_for(viewer).post(newcomer.address, {"do": "start"}).status_code == 404


def test_run_is_not_reached_through_another_project(
    wizard: Wizard, make_project: Any, lead: Any
) -> None:
    wizard.upload(LONG)
    other = make_project("Other")
    Member.objects.create(project=other, user=lead, role=Member.Role.LEAD)
    assert (
        wizard.client.get(f"/projects/{other.pk}/data/import/{wizard.run.pk}/").status_code == 404
    )
    assert wizard.client.get(f"/projects/import/{wizard.run.pk}/").status_code == 404


def test_visitor_is_asked_to_sign_in(client: Any, project: Project) -> None:
    for address in (
        f"/projects/{project.pk}/data/import/",
        "/projects/import/",
        f"/projects/{project.pk}/data/",
    ):
        response = client.get(address)
        assert response.status_code == 302
        assert response["Location"].startswith("/sign-in/")


def test_upload_needs_the_csrf_token(lead: Any, project: Project) -> None:
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(lead)
    response = client.post(
        f"/projects/{project.pk}/data/import/", {"file": SimpleUploadedFile("a.csv", LONG)}
    )
    assert response.status_code == 403
    assert not ImportRun.objects.exists()


def test_too_large_body_is_refused_unread(wizard: Wizard, settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 1000
    body = io.BytesIO(b"never read")
    stream: Any = {"wsgi.input": body}
    response = wizard.client.generic(
        "POST",
        wizard.entrance,
        b"",
        CONTENT_TYPE="multipart/form-data; boundary=x",
        CONTENT_LENGTH=str(10**10),
        **stream,
    )
    assert response.status_code == 413
    assert body.tell() == 0
    assert not ImportRun.objects.exists()


def test_upload_without_a_file_is_named(wizard: Wizard) -> None:
    response = wizard.client.post(wizard.entrance, {})
    assert response.status_code == 400
    assert "Choose a file, or paste what it would hold." in words(response)


def test_unfinished_imports_are_not_without_number(
    wizard: Wizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each keeps a file on the disk."""
    monkeypatch.setattr(upload_views, "MAX_UNFINISHED_RUNS", 2)
    for expected in (302, 302, 400):
        sent = {"file": SimpleUploadedFile("a.csv", LONG)}
        response = wizard.client.post(wizard.entrance, sent)
        assert response.status_code == expected
    assert "2 imports that are not finished" in words(response)
    assert ImportRun.objects.count() == 2
    ImportRun.objects.update(state=ImportRun.State.FAILED)
    sent = {"file": SimpleUploadedFile("a.csv", LONG)}
    assert wizard.client.post(wizard.entrance, sent).status_code == 302


def test_old_files_are_tidied_up(wizard: Wizard, utc: Any) -> None:
    wizard.upload(LONG)
    run = wizard.run
    jobs.resume_stalled()
    assert uploads.get_absolute_path(run.path).exists()
    ImportRun.objects.update(created_at=utc(2020, 1, 1))
    jobs.resume_stalled()
    assert not ImportRun.objects.exists()
    assert not uploads.get_absolute_path(run.path).exists()


def test_whoever_brings_no_times_is_told_so(wizard: Wizard, question: Any) -> None:
    """The trend of such a file is one point, and nobody said why."""
    of_all = "No times in this file: the trend shows one point on the day of the import."
    of_some = "over time they are one point"
    assert wizard.check(LONG).summary["untimed"] == 3
    assert of_all in words(wizard.page())
    assert wizard.check(WIDE).summary["untimed"] == 4
    assert of_all in words(wizard.page())
    timed = b"item,rater,label,timestamp\ni1,ann,minor,2026-01-02T10:00:00Z\n"
    assert wizard.check(timed).summary["untimed"] == 0
    assert of_all not in words(wizard.page())
    assert of_some not in words(wizard.page())
    assert wizard.check(timed + b"i1,ben,minor,\n").summary["untimed"] == 1
    assert of_all not in words(wizard.page())
    assert of_some in words(wizard.page())


def test_the_sample_says_that_there_is_more_than_is_seen(wizard: Wizard, question: Any) -> None:
    wizard.upload(LONG)
    assert "The first 3 rows" in words(wizard.page())
    assert "scroll to see all" not in words(wizard.page())
    wizard.upload(b"item,rater,label\n" + b"".join(b"i%d,ann,minor\n" % i for i in range(30)))
    assert "The first 20 rows; scroll to see all" in words(wizard.page())


def test_the_page_of_one_item_takes_a_file_of_many(
    wizard: Wizard, question: Any, project: Any
) -> None:
    page = wizard.client.get(f"/projects/{project.pk}/new-item/").text
    assert f'action="/projects/{project.pk}/data/import/" enctype="multipart/form-data"' in page

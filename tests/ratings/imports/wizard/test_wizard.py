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
from ratings.imports.wizard import views
from ratings.models import Assignment, CheckAnswer, ImportRun, Rating, Revision
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    get_page_text,
    list_stored_files,
    snapshot_import_tables,
)

LONG_FILE = b"item,rater,label\ni1,ann,minor\ni1,ben,major\ni2,ann,none\n"
WIDE_FILE = b"item,ann,ben,chris\ni1,minor,major,\ni2,none,,none\ni3,,,\n"


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any) -> WizardClient:
    """Return the wizard of the lead's project."""
    return WizardClient(client_for(lead), project)


@pytest.fixture
def new_project_wizard(lead: Any, client_for: Any) -> WizardClient:
    """Return the wizard that makes a project from a file."""
    return WizardClient(client_for(lead))


# --- the complete import ---------------------------------------------------------------------------


def test_long_file_into_existing_project(wizard: WizardClient, question: Any) -> None:
    run = wizard.import_file(LONG_FILE)

    assert run.state == "done"
    assert get_labels(question) == {
        ("i1", "ann"): "minor",
        ("i1", "ben"): "major",
        ("i2", "ann"): "none",
    }
    assert run.summary["outcome"] == {
        "created": 3,
        "changed": 0,
        "unchanged": 0,
        "items": 2,
        "raters": 1,
    }
    assert set(Revision.objects.values_list("source", "by__username")) == {("import", "lead")}
    page = get_page_text(wizard.get_page())
    assert f"/projects/{question.project_id}/?question=severity" in page


def test_pasted_lines_become_items_once(wizard: WizardClient, project: Project) -> None:
    for lines in ("Great, really!\r\n\r\nNie wieder.\r\n", "Nie wieder.\nGreat, really!\nOne more"):
        assert wizard.paste(lines).status_code == 302
        wizard.choose_columns()
        wizard.run_worker()
        wizard.start_import()
        assert wizard.run_worker().state == "done"
    texts = Item.objects.filter(project=project).order_by("pk").values_list("body", flat=True)
    assert sorted(body["text"] for body in texts) == ["Great, really!", "Nie wieder.", "One more"]
    assert set(Item.objects.values_list("version", flat=True)) == {1}


def test_pasted_labels_of_a_model_ask_for_the_rater(wizard: WizardClient, question: Any) -> None:
    text = "item,model,label\ni1,gpt-judge,minor\ni2,gpt-judge,none\n"
    wizard.paste(text, pasted_format="table")
    assert "model may be the raters" in get_page_text(wizard.get_page())
    wizard.choose_columns()
    wizard.run_worker()
    wizard.start_import()
    assert wizard.run_worker().state == "done"
    assert get_labels(question) == {("i1", "gpt-judge"): "minor", ("i2", "gpt-judge"): "none"}
    assert wizard.project and wizard.project.raters.get(key="gpt-judge").kind == "model"


def test_pasted_table_is_read_as_a_file(wizard: WizardClient, question: Any) -> None:
    wizard.paste(LONG_FILE.decode(), pasted_format="table")
    assert wizard.run.file_name == "pasted"
    wizard.choose_columns()
    wizard.run_worker()
    wizard.start_import()
    assert wizard.run_worker().state == "done"
    assert get_labels(question) == {
        ("i1", "ann"): "minor",
        ("i1", "ben"): "major",
        ("i2", "ann"): "none",
    }


def test_upload_takes_either_a_file_or_pasted_text(wizard: WizardClient, project: Project) -> None:
    file_data = {"file": SimpleUploadedFile("a.csv", LONG_FILE)}
    rejected_uploads = (
        (wizard.paste("a text", **file_data), "not both"),
        (wizard.paste(" \n "), "Choose a file or paste"),
        (wizard.paste("a", pasted_format="odd"), "odd is not one of the available choices"),
    )
    for response, reason in rejected_uploads:
        assert response.status_code == 400
        assert reason in get_page_text(response)
    assert not ImportRun.objects.exists()


def test_wide_file_into_existing_project(wizard: WizardClient, question: Any) -> None:
    wizard.import_file(WIDE_FILE)

    assert get_labels(question) == {
        ("i1", "ann"): "minor",
        ("i1", "ben"): "major",
        ("i2", "ann"): "none",
        ("i2", "chris"): "none",
    }
    assert not Item.objects.filter(key="i3").exists()  # no rater rated it


def test_file_becomes_project(new_project_wizard: WizardClient, lead: Any) -> None:
    new_project_wizard.upload_and_validate(
        LONG_FILE.replace(b"none", b"critical"),
        project_name="From a file",
        question_key="q",
        question_text="How bad?",
    )
    assert Project.objects.count() == 0
    new_project_wizard.start_import()
    new_project_wizard.run_worker()

    project = Project.objects.get(name="From a file")
    question = project.questions.get()
    assert [category.label for category in question.active_categories()] == [
        "minor",
        "major",
        "critical",
    ]
    assert (question.key, question.text, question.scale) == ("q", "How bad?", "ordinal")
    assert get_labels(question)["i2", "ann"] == "critical"
    assert project.members.get().role == Member.Role.LEAD
    assert new_project_wizard.run_url.startswith(f"/projects/{project.pk}/data/import/")
    assert new_project_wizard.get_page().status_code == 200


@pytest.mark.parametrize(("typed", "zone"), [("asia/tokyo ", "Asia/Tokyo"), ("", "UTC")])
def test_new_project_has_the_time_zone_of_its_lead(
    new_project_wizard: WizardClient, typed: str, zone: str
) -> None:
    new_project_wizard.import_file(LONG_FILE, time_zone=typed)
    assert Project.objects.get().time_zone == zone


def test_unknown_time_zone_is_refused(new_project_wizard: WizardClient) -> None:
    new_project_wizard.upload(LONG_FILE)
    response = new_project_wizard.choose_columns(time_zone="Tokio")
    assert response.status_code == 400
    assert "Use a time zone like" in response.text
    assert new_project_wizard.run.state == "mapping"


def test_lead_can_order_and_add_categories(new_project_wizard: WizardClient) -> None:
    new_project_wizard.upload_and_validate(b"item,rater,label\na,r,yellow\na,s,green\n")
    assert new_project_wizard.get_page().context["form"]["categories"].value() == "green\nyellow"
    new_project_wizard.start_import(scale="ordinal", categories="yellow\r\ngreen\r\nred\r\n")
    new_project_wizard.run_worker()

    question = Project.objects.get().questions.get()
    assert [category.label for category in question.active_categories()] == [
        "yellow",
        "green",
        "red",
    ]
    assert get_labels(question) == {("a", "r"): "yellow", ("a", "s"): "green"}


def test_repeated_rows_of_a_wide_table_are_a_required_choice(
    new_project_wizard: WizardClient,
) -> None:
    new_project_wizard.upload_and_validate(b"item,r1,r2\n1,a,b\n2,b,b\n1,b,b\n3,a,a\n")
    assert new_project_wizard.start_import().status_code == 400
    assert not Project.objects.exists()
    assert new_project_wizard.start_import(duplicate_policy="last").status_code == 302


def test_nothing_is_imported_before_labels_are_decided(new_project_wizard: WizardClient) -> None:
    new_project_wizard.upload_and_validate(b"item,rater,label\n1,a,Yes\n1,b,yes\n2,a,no\n")
    page = new_project_wizard.get_page().text
    assert 'value="labels"' in page and 'value="start"' not in page


@pytest.mark.parametrize(
    ("labels", "is_guess"), [(["low", "medium", "high"], True), (["green", "yellow"], False)]
)
def test_guessed_order_is_labeled_as_a_guess(
    new_project_wizard: WizardClient, labels: list[str], is_guess: bool
) -> None:
    rows = [f"i{number},ann,{label}" for number, label in enumerate(labels)]
    new_project_wizard.upload_and_validate("\n".join(["item,rater,label", *rows]).encode())
    has_hint = "The answers seem ordered" in new_project_wizard.get_page().text
    assert has_hint is is_guess


def test_labels_are_counted_in_the_order_of_the_categories(
    new_project_wizard: WizardClient,
) -> None:
    labels = ["medium", "high", "high", "low", "medium", "high"]
    rows = [f"i{number},ann,{label}" for number, label in enumerate(labels)]
    new_project_wizard.upload_and_validate("\n".join(["item,rater,label", *rows]).encode())
    [(_key, label_counts)] = new_project_wizard.get_page().context["questions"]
    assert label_counts == [("low", 1), ("medium", 2), ("high", 3)]


def test_scale_of_bare_numbers_is_a_required_choice(new_project_wizard: WizardClient) -> None:
    rows = [f"i{number},ann,{number % 3}" for number in range(6)]
    new_project_wizard.upload_and_validate("\n".join(["item,rater,label", *rows]).encode())
    response = new_project_wizard.start_import()
    assert response.status_code == 400 and not Project.objects.exists()
    assert "Do the labels have an order" in get_page_text(response)
    assert new_project_wizard.start_import(scale="ordinal").status_code == 302
    assert Project.objects.get().questions.get().scale == "ordinal"


@pytest.mark.parametrize(
    ("categories", "complaint"),
    [("green\nred", "yellow"), ("green\nyellow\ngreen", "green"), ("", "This field is required")],
)
def test_invalid_categories_are_refused(
    new_project_wizard: WizardClient, categories: str, complaint: str
) -> None:
    new_project_wizard.upload_and_validate(b"item,rater,label\na,r,yellow\na,s,green\n")
    before = snapshot_import_tables()
    response = new_project_wizard.start_import(categories=categories)

    assert response.status_code == 400
    assert complaint in get_page_text(response)
    assert snapshot_import_tables() == before
    assert new_project_wizard.run.state == "checked"


def test_numeric_scale_is_refused_for_text_labels(new_project_wizard: WizardClient) -> None:
    new_project_wizard.upload_and_validate(b"item,rater,label\na,r,yellow\na,s,green\n")
    response = new_project_wizard.start_import(scale="interval")

    assert response.status_code == 400
    assert "need values" in get_page_text(response)
    assert Project.objects.count() == 0


def test_scale_needs_two_labels(new_project_wizard: WizardClient) -> None:
    new_project_wizard.upload_and_validate(b"item,rater,label\na,r,yes\na,s,yes\n")
    response = new_project_wizard.start_import()

    assert response.status_code == 400
    assert "Enter 2 to" in get_page_text(response)
    assert new_project_wizard.start_import(categories="yes\nno").status_code == 302


def test_numeric_labels_have_their_values(new_project_wizard: WizardClient) -> None:
    new_project_wizard.upload_and_validate(b"item,rater,label\na,r,10\na,s,2\nb,r,-1\n")
    new_project_wizard.start_import(scale="interval")

    categories = Project.objects.get().questions.get().active_categories()
    assert [(category.label, category.value) for category in categories] == [
        ("-1", -1),
        ("2", 2),
        ("10", 10),
    ]


def test_new_question_in_existing_project(wizard: WizardClient, project: Project) -> None:
    wizard.upload_and_validate(
        b"item,rater,tone\na,r,kind\na,s,rude\n",
        label="2",
        target="new",
        question_key="tone",
        question_text="Tone?",
    )
    wizard.start_import()
    wizard.run_worker()

    assert get_labels(project.questions.get(key="tone")) == {("a", "r"): "kind", ("a", "s"): "rude"}
    assert project.questions.count() == 2


def test_existing_question_key_is_refused(wizard: WizardClient) -> None:
    wizard.upload(LONG_FILE)
    response = wizard.choose_columns(target="new", question_key="severity", question_text="Again?")

    assert response.status_code == 400
    assert "This question exists" in get_page_text(response)


# --- columns ---------------------------------------------------------------------------------------


def test_columns_page_shows_the_first_rows_and_guesses(wizard: WizardClient) -> None:
    wizard.upload(b"worker;severity;doc\nw1;major;<b>d1</b>\n")
    page = wizard.get_page()
    form = page.context["form"]

    assert (form["item"].value(), form["rater"].value(), form["label"].value()) == (2, 0, 1)
    assert page.context["reading"]["delimiter"].value() == ";"
    assert b"&lt;b&gt;d1&lt;/b&gt;" in page.content


@pytest.mark.parametrize(
    ("header", "default_rater"), [("item,rater,label", ""), ("item,label,note", "ratings")]
)
def test_rater_is_proposed_only_without_a_rater_column(
    new_project_wizard: WizardClient, header: str, default_rater: str
) -> None:
    new_project_wizard.upload(f"{header}\ni1,a,b\ni2,b,a\n".encode(), name="ratings.csv")
    form = new_project_wizard.get_page().context["form"]
    assert form["default_rater"].value() == default_rater


def test_missing_column_is_reported(wizard: WizardClient) -> None:
    wizard.upload(b"x,y,z\na,b,c\n")
    assert "No known column name: x, y, z." in get_page_text(wizard.get_page())
    response = wizard.choose_columns(item="0", rater="1", label="", layout="long")

    assert response.status_code == 400
    assert "Choose a column." in get_page_text(response)
    assert wizard.run.state == "mapping"


def test_column_cannot_have_two_roles(wizard: WizardClient) -> None:
    wizard.upload(LONG_FILE)
    response = wizard.choose_columns(rater="0")

    assert response.status_code == 400
    assert "already 'Item'" in get_page_text(response)


def test_wide_file_without_raters_is_refused(wizard: WizardClient) -> None:
    wizard.upload(WIDE_FILE)
    response = wizard.choose_columns(excluded_columns=["1", "2", "3"])

    assert response.status_code == 400
    assert "No label column is left" in get_page_text(response)


def test_delimiter_can_be_chosen(wizard: WizardClient, question: Any) -> None:
    wizard.upload(b"item|rater|label,x\ni1|ann|minor\n")
    wizard.client.post(
        wizard.run_url, {"action": "read", "encoding": "utf-8-sig", "delimiter": ","}
    )
    assert wizard.get_page().context["head"].names == ["item|rater|label", "x"]
    wizard.client.post(
        wizard.run_url, {"action": "read", "encoding": "utf-8-sig", "delimiter": "|"}
    )
    assert wizard.get_page().context["head"].names == ["item", "rater", "label,x"]


def test_only_rows_of_the_chosen_question_are_imported(wizard: WizardClient, question: Any) -> None:
    content = b"item,rater,question,label\ni1,ann,severity,minor\ni1,ann,tone,kind\n"
    run = wizard.import_file(content)

    assert get_labels(question) == {("i1", "ann"): "minor"}
    assert run.summary["n_other_questions"] == 1


# --- repeats ---------------------------------------------------------------------------------------

FILE_WITH_REPEATS = (
    b"item,rater,label\ni1,ann,minor\ni2,ann,none\ni1,ben,none\ni1,ann,major\ni1,ann,critical\n"
)


@pytest.mark.parametrize(("policy", "label"), [("last", "critical"), ("first", "minor")])
def test_repeats_go_to_the_history(
    wizard: WizardClient, question: Any, policy: str, label: str
) -> None:
    run = wizard.upload_and_validate(FILE_WITH_REPEATS)
    assert run.summary["repeats"] == 2
    assert run.summary["repeat_examples"][0] == ["i1", "ann", 2, "minor", 5, "major"]
    assert "2 rows repeat" in get_page_text(wizard.get_page())
    wizard.start_import(duplicate_policy=policy)
    wizard.run_worker()

    assert get_labels(question)["i1", "ann"] == label
    rating = Rating.objects.get(item__key="i1", rater__key="ann")
    labels = dict(question.categories.values_list("code", "label"))
    history = [
        (labels[code], superseded)
        for code, superseded in rating.revisions.values_list("code", "superseded")
    ]
    other_labels = [text for text in ("minor", "major", "critical") if text != label]
    assert history == [(other_label, True) for other_label in other_labels] + [(label, False)]


def list_check_answers() -> list[tuple[str, str, str, int | None, int, bool]]:
    columns = ("item__key", "rater__key", "kind", "rated_code", "code", "is_current")
    return list(CheckAnswer.objects.order_by("pk").values_list(*columns))


def test_second_row_can_be_stored_as_a_repeat(wizard: WizardClient, question: Any) -> None:
    codes = dict(question.categories.values_list("label", "code"))
    expected = [("i1", "ann", "repeat", codes["minor"], codes["major"], True)]
    for _attempt in range(2):
        wizard.upload_and_validate(FILE_WITH_REPEATS)
        assert "The others go to the history" in get_page_text(wizard.get_page())
        wizard.start_import(duplicate_policy="repeat")
        run = wizard.run_worker()
        assert get_labels(question)["i1", "ann"] == "minor"
        assert list_check_answers() == expected
    rating = Rating.objects.get(item__key="i1", rater__key="ann")
    history = list(rating.revisions.values_list("code", "superseded"))
    assert history == [(codes["critical"], True), (codes["minor"], False)], "the third row"
    assert run.summary["outcome"].get("repeats", 0) == 0
    assert Rating.objects.count() == 3 and not Assignment.objects.filter(kind="repeat").exists()


def test_ratings_of_a_second_file_can_be_stored_as_repeats(
    wizard: WizardClient, question: Any
) -> None:
    """For a model that ran twice: the project's ratings stay the current ones."""
    codes = dict(question.categories.values_list("label", "code"))
    header = b"item,rater,label,timestamp\n"
    wizard.upload_and_validate(header + b"i1,gpt,minor,\ni2,gpt,none,\n")
    assert "duplicate_policy" not in wizard.get_page().context["form"].fields, (
        "nothing could be said again"
    )
    wizard.start_import()
    wizard.run_worker()
    second_file = b"i1,gpt,major,2026-03-01T09:30:00Z\ni2,gpt,none,\ni3,gpt,none,\n"
    wizard.upload_and_validate(header + second_file)
    offered_policies = [
        name
        for name, _label in wizard.get_page().context["form"].fields["duplicate_policy"].choices
    ]
    assert offered_policies == ["last", "first", "repeat", "again"]
    wizard.start_import(duplicate_policy="again")
    run = wizard.run_worker()
    assert get_labels(question) == {
        ("i1", "gpt"): "minor",
        ("i2", "gpt"): "none",
        ("i3", "gpt"): "none",
    }
    assert list_check_answers() == [
        ("i1", "gpt", "repeat", codes["minor"], codes["major"], True),
        ("i2", "gpt", "repeat", codes["none"], codes["none"], True),
    ]
    assert CheckAnswer.objects.earliest("pk").rated_at.isoformat() == "2026-03-01T09:30:00+00:00"
    assert run.summary["outcome"]["repeats"] == 2
    assert "Kept as repeats" in get_page_text(wizard.get_page())


@pytest.mark.parametrize("content", [LONG_FILE, WIDE_FILE, FILE_WITH_REPEATS])
def test_same_file_twice_changes_nothing(wizard: WizardClient, content: bytes) -> None:
    wizard.import_file(content)
    before = snapshot_import_tables()
    run = wizard.import_file(content)

    assert snapshot_import_tables() == before
    assert run.summary["outcome"]["created"] == run.summary["outcome"]["changed"] == 0


def test_same_file_with_times_and_comments_twice_changes_nothing(wizard: WizardClient) -> None:
    content = (
        b"item,rater,label,timestamp,comment\n"
        b"i1,ann,minor,2026-03-01T09:30:00+02:00,=SUM(A1)\n"
        b'i1,ben,major,,"two\r\nlines"\n'
    )
    wizard.import_file(content)
    before = snapshot_import_tables()
    wizard.import_file(content)

    assert snapshot_import_tables() == before
    rating = Rating.objects.get(rater__key="ann")
    assert (rating.rated_at.isoformat(), rating.comment) == (
        "2026-03-01T07:30:00+00:00",
        "=SUM(A1)",
    )


def test_changed_label_is_a_change_with_history(wizard: WizardClient, question: Any) -> None:
    wizard.import_file(LONG_FILE)
    changed_file = LONG_FILE.replace(b"i1,ann,minor", b"i1,ann,critical")
    assert wizard.upload_and_validate(changed_file).summary["changed_ratings"] == 1
    page_words = " ".join(get_page_text(wizard.get_page()).split())
    assert "<dt>Ratings changed</dt>" in page_words
    run = wizard.import_file(changed_file)
    assert wizard.upload_and_validate(changed_file).summary["changed_ratings"] == 0

    assert run.summary["outcome"] == {
        "created": 0,
        "changed": 1,
        "unchanged": 2,
        "items": 0,
        "raters": 0,
    }
    assert get_labels(question)["i1", "ann"] == "critical"
    assert Rating.objects.get(item__key="i1", rater__key="ann").revisions.count() == 2


# --- unknown items and raters ----------------------------------------------------------------------


def test_unknown_items_and_raters_are_errors_unless_created(
    wizard: WizardClient, project: Project
) -> None:
    Item.objects.create(project=project, key="i1")
    before = snapshot_import_tables()
    run = wizard.upload_and_validate(LONG_FILE, create_missing="")

    assert run.state == "invalid"
    assert [(p["kind"], p["line"], p["values"]["value"]) for p in run.problems] == [
        ("item_unknown", 4, "i2"),
        ("rater_unknown", 3, "ben"),
    ]
    assert "'i2' is new" in get_page_text(wizard.get_page())
    assert snapshot_import_tables() == before


def test_existing_items_and_raters_are_used(
    wizard: WizardClient, project: Project, question: Any
) -> None:
    for key in ("i1", "i2"):
        Item.objects.create(project=project, key=key)
    Rater.objects.create(project=project, key="ben")
    wizard.import_file(LONG_FILE, create_missing="")

    assert len(get_labels(question)) == 3
    assert Item.objects.count() == 2


# --- uploads ---------------------------------------------------------------------------------------


def test_gzip_file_is_decompressed(wizard: WizardClient, question: Any) -> None:
    assert wizard.upload(gzip.compress(LONG_FILE), "ratings.csv.gz").status_code == 302
    wizard.choose_columns()
    wizard.run_worker()
    wizard.start_import()
    wizard.run_worker()
    assert len(get_labels(question)) == 3


def test_file_name_is_shown_but_never_used_as_a_path(wizard: WizardClient) -> None:
    name = "..\\..\\etc/pass<b>\u202ewd\n" + 300 * "x" + ".csv"
    assert wizard.upload(LONG_FILE, name).status_code == 302
    run = wizard.run
    assert run.path.startswith("imports/")
    assert "\u202e" not in run.file_name and len(run.file_name) <= 200
    assert "<b>" not in wizard.get_page().content.decode()


def test_files_are_deleted_after_the_import(wizard: WizardClient) -> None:
    before = list_stored_files()
    wizard.import_file(LONG_FILE)
    assert list_stored_files() == before


def test_discard_removes_run_and_file(wizard: WizardClient) -> None:
    before = list_stored_files()
    wizard.upload_and_validate(LONG_FILE)
    assert len(list_stored_files() - before) == 2
    response = wizard.client.post(wizard.run_url, {"action": "discard"})

    assert response.status_code == 302
    assert not ImportRun.objects.exists()
    assert list_stored_files() == before


def test_reopened_columns_can_be_chosen_again(wizard: WizardClient, question: Any) -> None:
    run = wizard.upload_and_validate(b"item,rater,label,other\ni1,ann,wrong,minor\n")
    assert run.state == "invalid"
    wizard.client.post(wizard.run_url, {"action": "reopen"})
    assert wizard.get_page().context["form"]["label"].value() == 2
    wizard.choose_columns(label="3")
    assert wizard.run_worker().state == "checked"


def test_unknown_step_is_refused(wizard: WizardClient) -> None:
    wizard.upload(LONG_FILE)
    assert wizard.client.post(wizard.run_url, {"action": "explode"}).status_code == 400


@pytest.mark.parametrize("step", ["columns", "start", "recheck", "reopen", "discard"])
def test_steps_of_another_state_change_nothing(wizard: WizardClient, step: str) -> None:
    wizard.import_file(LONG_FILE)
    before = snapshot_import_tables()
    response = wizard.client.post(wizard.run_url, {"action": step}, follow=True)

    assert response.status_code == 200
    assert wizard.run.state == "done"
    assert snapshot_import_tables() == before


# --- progress --------------------------------------------------------------------------------------


def test_progress_is_polled_until_the_step_ends(wizard: WizardClient) -> None:
    wizard.upload(LONG_FILE)
    wizard.choose_columns()
    page = wizard.get_page()
    assert b"Checking" in page.content and b"Refresh" in page.content
    fragment = wizard.client.get(page.context["progress_url"])
    assert fragment.status_code == 200 and "HX-Refresh" not in fragment
    wizard.run_worker()
    assert wizard.client.get(page.context["progress_url"])["HX-Refresh"] == "true"


def test_sweep_resumes_imports_without_a_message(wizard: WizardClient, question: Any) -> None:
    wizard.upload(LONG_FILE)
    wizard.choose_columns()
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "checked"
    wizard.start_import()
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "done"
    assert tasks.resume_stalled() == 0
    assert len(get_labels(question)) == 3


def test_data_page_lists_imports(wizard: WizardClient, project: Project) -> None:
    wizard.import_file(LONG_FILE)
    page = get_page_text(wizard.client.get(f"/projects/{project.pk}/data/"))
    assert "ratings.csv" in page
    assert "export.csv?question=severity" in page


# --- permissions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "import_status", "data_status"),
    [("stranger", 404, 404), ("annotator", 403, 403), ("viewer", 403, 200)],
)
def test_only_leads_import(
    wizard: WizardClient,
    project: Project,
    client_for: Any,
    request: Any,
    name: str,
    import_status: int,
    data_status: int,
) -> None:
    wizard.upload_and_validate(LONG_FILE)
    client = client_for(request.getfixturevalue(name))
    for address in (wizard.upload_url, wizard.run_url, f"{wizard.run_url}progress/"):
        assert client.get(address).status_code == import_status
    before = snapshot_import_tables()
    for step in ("start", "columns", "reopen", "recheck", "discard", "read"):
        assert client.post(wizard.run_url, {"action": step}).status_code == import_status
    assert (
        client.post(wizard.upload_url, {"file": SimpleUploadedFile("a.csv", LONG_FILE)}).status_code
        == import_status
    )
    assert client.get(f"/projects/{project.pk}/data/").status_code == data_status
    assert snapshot_import_tables() == before
    assert wizard.run.state == "checked"
    assert ImportRun.objects.count() == 1


def test_run_without_project_is_only_for_its_creator(
    new_project_wizard: WizardClient, client_for: Any, viewer: Any
) -> None:
    new_project_wizard.upload_and_validate(LONG_FILE)
    assert new_project_wizard.get_page().status_code == 200
    assert client_for(viewer).get(new_project_wizard.run_url).status_code == 404
    assert (
        client_for(viewer).post(new_project_wizard.run_url, {"action": "start"}).status_code == 404
    )


def test_run_is_not_reached_through_another_project(
    wizard: WizardClient, make_project: Any, lead: Any
) -> None:
    wizard.upload(LONG_FILE)
    other_project = make_project("Other")
    Member.objects.create(project=other_project, user=lead, role=Member.Role.LEAD)
    assert (
        wizard.client.get(f"/projects/{other_project.pk}/data/import/{wizard.run.pk}/").status_code
        == 404
    )
    assert wizard.client.get(f"/projects/import/{wizard.run.pk}/").status_code == 404


def test_import_pages_require_sign_in(client: Any, project: Project) -> None:
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
        f"/projects/{project.pk}/data/import/", {"file": SimpleUploadedFile("a.csv", LONG_FILE)}
    )
    assert response.status_code == 403
    assert not ImportRun.objects.exists()


def test_oversized_body_is_refused_without_reading_it(wizard: WizardClient, settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 1000
    body = io.BytesIO(b"never read")
    stream: Any = {"wsgi.input": body}
    response = wizard.client.generic(
        "POST",
        wizard.upload_url,
        b"",
        CONTENT_TYPE="multipart/form-data; boundary=x",
        CONTENT_LENGTH=str(10**10),
        **stream,
    )
    assert response.status_code == 413
    assert body.tell() == 0
    assert not ImportRun.objects.exists()


def test_upload_without_a_file_is_refused(wizard: WizardClient) -> None:
    response = wizard.client.post(wizard.upload_url, {})
    assert response.status_code == 400
    assert "Choose a file or paste data, not both." in get_page_text(response)


def test_number_of_unfinished_imports_is_limited(
    wizard: WizardClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each unfinished import keeps a file on disk."""
    monkeypatch.setattr(views, "MAX_UNFINISHED_RUNS", 2)
    for expected in (302, 302, 400):
        data = {"file": SimpleUploadedFile("a.csv", LONG_FILE)}
        response = wizard.client.post(wizard.upload_url, data)
        assert response.status_code == expected
    assert "Finish or discard one of your 2 imports" in get_page_text(response)
    assert ImportRun.objects.count() == 2
    ImportRun.objects.update(state=ImportRun.State.FAILED)
    data = {"file": SimpleUploadedFile("a.csv", LONG_FILE)}
    assert wizard.client.post(wizard.upload_url, data).status_code == 302


def test_old_files_are_deleted(wizard: WizardClient, utc: Any) -> None:
    wizard.upload(LONG_FILE)
    run = wizard.run
    jobs.resume_stalled_imports()
    assert uploads.get_absolute_path(run.path).exists()
    ImportRun.objects.update(created_at=utc(2020, 1, 1))
    jobs.resume_stalled_imports()
    assert not ImportRun.objects.exists()
    assert not uploads.get_absolute_path(run.path).exists()


def test_file_without_times_gets_a_hint(wizard: WizardClient, question: Any) -> None:
    """The trend of such a file is a single point, and the page says why."""
    no_times_hint = "Without times, the trend has one point."
    assert wizard.upload_and_validate(LONG_FILE).summary["n_without_time"] == 3
    assert no_times_hint in get_page_text(wizard.get_page())
    assert wizard.upload_and_validate(WIDE_FILE).summary["n_without_time"] == 4
    assert no_times_hint in get_page_text(wizard.get_page())
    file_with_time = b"item,rater,label,timestamp\ni1,ann,minor,2026-01-02T10:00:00Z\n"
    assert wizard.upload_and_validate(file_with_time).summary["n_without_time"] == 0
    assert no_times_hint not in get_page_text(wizard.get_page())
    assert (
        wizard.upload_and_validate(file_with_time + b"i1,ben,minor,\n").summary["n_without_time"]
        == 1
    )
    assert no_times_hint not in get_page_text(wizard.get_page())
    assert "Ratings without a time" in get_page_text(wizard.get_page())


def test_sample_shows_only_the_first_rows(wizard: WizardClient, question: Any) -> None:
    wizard.upload(b"item,rater,label\n" + b"".join(b"i%d,ann,minor\n" % i for i in range(30)))
    page = wizard.get_page().text
    assert "<caption>First rows</caption>" in page
    assert ">i19<" in page and ">i20<" not in page


def test_new_item_page_offers_a_file_import(
    wizard: WizardClient, question: Any, project: Any
) -> None:
    page = wizard.client.get(f"/projects/{project.pk}/new-item/").text
    assert f'action="/projects/{project.pk}/data/import/" enctype="multipart/form-data"' in page

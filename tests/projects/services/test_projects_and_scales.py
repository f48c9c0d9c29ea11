"""Services that change a project and its scale: valid changes, rejected changes, unchanged data."""

from __future__ import annotations

import math

import pytest
from django.utils import timezone

from metrics.jobs.question_updates import list_pending_questions, update_question
from metrics.models import Result
from projects.models import Category, Member, Question, ScaleVersion
from projects.services.project_validation import InvalidProjectChange
from projects.services.projects import change_project, create_project
from projects.services.question_validation import (
    InvalidQuestions,
    NewCategory,
    NewQuestion,
    assign_hotkeys,
    find_category_problems,
)
from projects.services.questions import add_question, change_categories, change_weights
from ratings.models import Rating
from ratings.services.rating_timestamps import day_number

pytestmark = pytest.mark.django_db

MATRIX = [[1, 0.5, 0, 0], [0.5, 1, 0.5, 0], [0, 0.5, 1, 0.5], [0, 0, 0.5, 1]]


def build_severity_question(**fields):
    defaults = {
        "key": "severity",
        "text": "How bad?",
        "scale": "ordinal",
        "categories": [NewCategory("good"), NewCategory("bad")],
    }
    return NewQuestion(**defaults | fields)


def list_declared_categories(question):
    return [
        (category.code, NewCategory(category.label, category.value, category.hotkey))
        for category in question.active_categories()
    ]


def get_scale_state(question):
    """Return everything that a rejected change must leave unchanged."""
    question = Question.objects.get(pk=question.pk)
    columns = ("code", "label", "position", "value", "hotkey", "retired")
    return (
        question.scale,
        question.weights,
        question.weight_matrix,
        question.scale_version,
        list(question.categories.order_by("code").values_list(*columns)),
    )


def test_create_project_makes_its_creator_the_lead(lead):
    project = create_project(
        by=lead, name="Reviews", questions=[build_severity_question()], time_zone="Asia/Shanghai"
    )
    assert Member.objects.get(project=project).role == "lead"
    assert [category.label for category in project.questions.get().active_categories()] == [
        "good",
        "bad",
    ]
    assert project.time_zone == "Asia/Shanghai"


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("name", {"name": " "}),
        ("name", {"name": "x" * 201}),
        ("name", {"name": "two\nlines"}),
        ("overlap", {"overlap": 0}),
        ("time_zone", {"time_zone": "Mars/Olympus"}),
        ("guidelines", {"guidelines": "a\x00b"}),
    ],
)
def test_change_project_rejects_an_invalid_field(project, lead, field, changes):
    with pytest.raises(InvalidProjectChange) as error:
        change_project(project=project, by=lead, **changes)
    assert list(error.value.fields) == [field]
    project.refresh_from_db()
    assert (project.name, project.overlap, project.time_zone, project.guidelines) == (
        "Reviews",
        3,
        "UTC",
        "",
    )


def test_a_new_time_zone_moves_the_days_of_the_ratings(project, question, lead, rate, utc):
    rate(question, "i1", "a", "major", rated_at=utc(2026, 3, 1, 23, 30))
    rate(question, "i1", "b", "major", rated_at=utc(2026, 3, 1, 23, 30))
    update_question(question.pk)
    change_project(project=project, by=lead, time_zone="Asia/Tokyo")
    from zoneinfo import ZoneInfo

    rating = Rating.objects.earliest("pk")
    assert rating.day == day_number(rating.rated_at, ZoneInfo("Asia/Tokyo"))
    update_question(question.pk)
    days = Result.objects.filter(question=question, period_unit="day").values_list(
        "start", flat=True
    )
    assert [str(day) for day in days] == ["2026-03-02"]


def test_add_question_rejects_an_existing_key(project, lead):
    with pytest.raises(InvalidProjectChange, match="severity"):
        add_question(project=project, question=build_severity_question(), by=lead)
    added = add_question(project=project, question=build_severity_question(key="fluency"), by=lead)
    assert [question.key for question in project.questions.all()] == ["severity", "fluency"]
    assert added.position == 1


def test_add_question_rejects_a_single_category(project, lead):
    with pytest.raises(InvalidQuestions):
        add_question(
            project=project,
            question=build_severity_question(key="x", categories=[NewCategory("only")]),
            by=lead,
        )
    assert project.questions.count() == 1


def test_categories_swap_labels_and_hotkeys_and_keep_their_codes(question, lead):
    (first_code, _first), (second_code, _second), *others = list_declared_categories(question)
    swapped = [
        (first_code, NewCategory("minor", 0, "2")),
        (second_code, NewCategory("none", 1, "1")),
        *others,
    ]
    updated = change_categories(question=question, scale="ordinal", categories=swapped, by=lead)
    assert [(category.code, category.label) for category in updated.active_categories()][:2] == [
        (0, "minor"),
        (1, "none"),
    ]
    assert updated.scale_version == question.scale_version + 1


def test_a_new_order_moves_rows_and_columns_of_the_matrix(question, lead):
    question = change_weights(question=question, weights="custom", matrix=MATRIX, by=lead)
    categories = list_declared_categories(question)
    order = [
        categories[0],
        (None, NewCategory("trivial", 0.5)),
        categories[2],
        categories[1],
        categories[3],
    ]
    updated = change_categories(question=question, scale="ordinal", categories=order, by=lead)
    assert [category.code for category in updated.active_categories()] == [0, 4, 2, 1, 3]
    assert updated.weight_matrix == [
        [1, 0, 0, 0.5, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0.5, 0.5],
        [0.5, 0, 0.5, 1, 0],
        [0, 0, 0.5, 0, 1],
    ]


def test_a_used_category_is_not_removed(question, lead, rate):
    rate(question, "i1", "a", "major")
    rate(question, "i2", "a", "major")
    before = get_scale_state(question)
    remaining = [row for row in list_declared_categories(question) if row[1].label != "major"]
    with pytest.raises(
        InvalidProjectChange,
        match="“major” has 2 ratings or gold answers",
    ):
        change_categories(question=question, scale="ordinal", categories=remaining, by=lead)
    assert get_scale_state(question) == before


def test_category_still_in_stored_counts_is_not_removed(question, lead, rate):
    rate(question, "i1", "a", "major")
    update_question(question.pk)
    rate(question, "i1", "a", None)
    remaining = [row for row in list_declared_categories(question) if row[1].label != "major"]
    with pytest.raises(InvalidProjectChange, match="has 1 rating or gold answer"):
        change_categories(question=question, scale="ordinal", categories=remaining, by=lead)
    update_question(question.pk)
    change_categories(question=question, scale="ordinal", categories=remaining, by=lead)
    assert Category.objects.get(question=question, label="major").retired


def test_removed_label_gets_a_new_code_when_added_again(question, lead):
    categories = list_declared_categories(question)
    question = change_categories(
        question=question, scale="ordinal", categories=categories[:3], by=lead
    )
    with_label_again = [*categories[:3], (None, NewCategory("critical", 3, "4"))]
    updated = change_categories(
        question=question, scale="ordinal", categories=with_label_again, by=lead
    )
    assert [category.code for category in updated.active_categories()] == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("categories", lambda rows: rows[:1]),
        ("categories", lambda rows: [*rows, (None, NewCategory("none"))]),
        ("categories", lambda rows: [*rows, (None, NewCategory("awful", 9, "1"))]),
        ("categories", lambda rows: [*rows, (None, NewCategory("awful", math.nan))]),
        ("categories", lambda rows: [*rows, (None, NewCategory("awful", math.inf))]),
        ("categories", lambda rows: [*rows, rows[0]]),
        ("categories", lambda rows: [*rows, (99, NewCategory("awful", 9))]),
    ],
)
def test_malformed_scale_is_rejected_and_changes_nothing(question, lead, field, change):
    before = get_scale_state(question)
    with pytest.raises(InvalidProjectChange) as error:
        change_categories(
            question=question,
            scale="ordinal",
            categories=change(list_declared_categories(question)),
            by=lead,
        )
    assert list(error.value.fields) == [field]
    assert get_scale_state(question) == before


def test_unknown_scale_error_lists_the_allowed_scales(question, lead):
    with pytest.raises(InvalidProjectChange, match="nominal, ordinal, interval, ratio"):
        change_categories(
            question=question, scale="odd", categories=list_declared_categories(question), by=lead
        )


def test_concurrent_scale_change_is_not_overwritten(question, lead):
    seen_version = question.scale_version
    change_weights(
        question=question, weights="linear", matrix=None, by=lead, seen_version=seen_version
    )
    with pytest.raises(InvalidProjectChange, match="Someone else"):
        change_weights(
            question=question, weights="quadratic", matrix=None, by=lead, seen_version=seen_version
        )
    assert Question.objects.get(pk=question.pk).weights == "linear"


def change_matrix_cell(row, column, value):
    matrix = [list(line) for line in MATRIX]
    matrix[row][column] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (None, "need one row and column"),
        (MATRIX[:3], "The matrix has 3 rows but needs 4"),
        ([*MATRIX[:3], [0, 0, 1]], "Row 4 of the matrix has 3 numbers but needs 4"),
        ("text", "list of rows"),
        (
            change_matrix_cell(1, 2, 0.4),
            r"Not symmetric: row 3, column 2 is 0.5, row 2, column 3 0.4",
        ),
        (
            change_matrix_cell(1, 1, 0.9),
            "row 2, column 2 must be 1, not 0.9",
        ),
        (
            change_matrix_cell(0, 1, 1.5),
            "row 1, column 2 must be 0–1, not 1.5",
        ),
        (change_matrix_cell(0, 1, math.nan), "must be 0–1, not nan"),
        (change_matrix_cell(0, 1, "half"), "must be 0–1, not half"),
        (change_matrix_cell(0, 1, True), "must be 0–1, not True"),
        (change_matrix_cell(0, 1, 10**400), "must be 0–1, not 1000"),
        (change_matrix_cell(0, 1, None), "must be 0–1, not empty"),
    ],
)
def test_invalid_matrix_is_rejected_with_a_reason(question, lead, matrix, message):
    before = get_scale_state(question)
    with pytest.raises(InvalidProjectChange, match=message) as error:
        change_weights(question=question, weights="custom", matrix=matrix, by=lead)
    assert list(error.value.fields) == ["weight_matrix"]
    assert get_scale_state(question) == before


def test_unknown_weights_are_rejected(question, lead):
    with pytest.raises(InvalidProjectChange, match="none, linear, quadratic, custom"):
        change_weights(question=question, weights="cubic", matrix=None, by=lead)


def test_new_weights_recompute_the_results(question, lead, rate):
    for item in "abc":
        rate(question, item, "r1", "none" if item == "a" else "major")
        rate(question, item, "r2", "minor" if item == "b" else "major")
    update_question(question.pk)
    assert (
        "fleiss_kappa_custom"
        not in Result.objects.get(question=question, period_unit="all").coefficients
    )
    change_weights(question=question, weights="custom", matrix=MATRIX, by=lead)
    assert list_pending_questions() == [question.pk]
    update_question(question.pk)
    assert (
        "fleiss_kappa_custom"
        in Result.objects.get(question=question, period_unit="all").coefficients
    )
    assert list_pending_questions() == []


def test_earlier_scale_versions_are_kept(question, lead):
    first_declaration, started_at = question.get_declaration(), timezone.now()
    change_weights(question=question, weights="linear", matrix=None, by=lead)
    changed_at = timezone.now()
    renamed = [
        (code, NewCategory(f"{category.label}!"))
        for code, category in list_declared_categories(question)
    ]
    change_categories(question=question, scale="ordinal", categories=renamed, by=lead)
    with pytest.raises(InvalidProjectChange):
        change_weights(question=question, weights="odd", matrix=None, by=lead)
    updated = Question.objects.get(pk=question.pk)
    assert ScaleVersion.get_version_at(updated, started_at) == (1, first_declaration)
    assert ScaleVersion.get_version_at(updated, changed_at) == (
        2,
        first_declaration | {"weights": "linear"},
    )
    assert ScaleVersion.get_version_at(updated, timezone.now()) == (3, updated.get_declaration())
    assert updated.get_declaration()["categories"][0]["label"] == "none!"
    assert list(ScaleVersion.objects.values_list("number", "by")) == [(1, lead.pk), (2, lead.pk)]


def test_lookalike_labels_are_duplicates() -> None:
    """Labels look alike in two Unicode compositions, or with a letter of another alphabet."""
    for first, second in (("caf\u00e9", "cafe\u0301"), ("pass", "p\u0430ss")):
        problems = find_category_problems(
            [NewCategory(first), NewCategory(second)], scale="nominal"
        )
        assert problems == {"1": {"label": f"{second!r} stands at 0 already (counted from 0)."}}
    assert not find_category_problems([NewCategory("Yes"), NewCategory("yes")], scale="nominal")


@pytest.mark.parametrize(
    ("declared", "labels", "keys"),
    [
        (["", "", ""], ["0", "1", "2"], ["0", "1", "2"]),
        (["", "", ""], ["no", "1", "2"], ["1", "2", "3"]),
        (["2", "", ""], ["0", "1", "2"], ["2", "1", "3"]),
        (["", "", ""], ["", "", ""], ["1", "2", "3"]),
        (["1", "", ""], ["a", "b", "c"], ["1", "2", "3"]),
    ],
)
def test_single_digits_are_their_own_keys(declared, labels, keys):
    assert assign_hotkeys(declared, labels) == keys

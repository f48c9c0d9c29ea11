"""Changing a project and its scale: what the actions allow, refuse, and leave as it was."""

from __future__ import annotations

import math

import pytest
from django.utils import timezone

from metrics.jobs.question_updates import list_pending_questions, update_question
from metrics.models import Reading
from projects.models import Category, Member, Question, ScaleVersion
from projects.services.project_validation import InvalidProjectChange
from projects.services.projects import change_project, create_project
from projects.services.question_validation import (
    InvalidQuestions,
    NewCategory,
    NewQuestion,
    find_category_problems,
)
from projects.services.questions import add_question
from projects.services.scales import change_categories, change_weights
from ratings.models import Rating
from ratings.services.days import day_number

pytestmark = pytest.mark.django_db

MATRIX = [[1, 0.5, 0, 0], [0.5, 1, 0.5, 0], [0, 0.5, 1, 0.5], [0, 0, 0.5, 1]]


def severity(**fields):
    declared = {
        "key": "severity",
        "text": "How bad?",
        "scale": "ordinal",
        "categories": [NewCategory("good"), NewCategory("bad")],
    }
    return NewQuestion(**declared | fields)


def as_declared(question):
    return [
        (category.code, NewCategory(category.label, category.value, category.hotkey))
        for category in question.active_categories()
    ]


def state(question):
    """Everything that a refused change must leave as it was."""
    question = Question.objects.get(pk=question.pk)
    columns = ("code", "label", "position", "value", "hotkey", "retired")
    return (
        question.scale,
        question.weights,
        question.weight_matrix,
        question.scale_version,
        list(question.categories.order_by("code").values_list(*columns)),
    )


def test_create_project_makes_its_maker_the_lead(lead):
    project = create_project(
        by=lead, name="Reviews", questions=[severity()], time_zone="Asia/Shanghai"
    )
    assert Member.objects.get(project=project).role == "lead"
    assert [category.label for category in project.questions.get().active_categories()] == [
        "good",
        "bad",
    ]
    assert project.time_zone == "Asia/Shanghai"


@pytest.mark.parametrize(
    ("place", "fields"),
    [
        ("name", {"name": " "}),
        ("name", {"name": "x" * 201}),
        ("name", {"name": "two\nlines"}),
        ("overlap", {"overlap": 0}),
        ("time_zone", {"time_zone": "Mars/Olympus"}),
        ("guidelines", {"guidelines": "a\x00b"}),
    ],
)
def test_change_project_refuses_and_names_the_place(project, lead, place, fields):
    with pytest.raises(InvalidProjectChange) as refused:
        change_project(project=project, by=lead, **fields)
    assert list(refused.value.fields) == [place]
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
    days = Reading.objects.filter(question=question, span="day").values_list("start", flat=True)
    assert [str(day) for day in days] == ["2026-03-02"]


def test_add_question_refuses_a_key_that_stands(project, lead):
    with pytest.raises(InvalidProjectChange, match="severity"):
        add_question(project=project, question=severity(), by=lead)
    added = add_question(project=project, question=severity(key="fluency"), by=lead)
    assert [question.key for question in project.questions.all()] == ["severity", "fluency"]
    assert added.position == 1


def test_add_question_refuses_one_category(project, lead):
    with pytest.raises(InvalidQuestions):
        add_question(
            project=project, question=severity(key="x", categories=[NewCategory("only")]), by=lead
        )
    assert project.questions.count() == 1


def test_categories_swap_labels_and_hotkeys_and_keep_their_codes(question, lead):
    (a, _first), (b, _second), *rest = as_declared(question)
    swapped = [(a, NewCategory("minor", 0, "2")), (b, NewCategory("none", 1, "1")), *rest]
    after = change_categories(question=question, scale="ordinal", categories=swapped, by=lead)
    assert [(category.code, category.label) for category in after.active_categories()][:2] == [
        (0, "minor"),
        (1, "none"),
    ]
    assert after.scale_version == question.scale_version + 1


def test_a_new_order_moves_rows_and_columns_of_the_matrix(question, lead):
    question = change_weights(question=question, weights="custom", matrix=MATRIX, by=lead)
    declared = as_declared(question)
    order = [
        declared[0],
        (None, NewCategory("trivial", 0.5)),
        declared[2],
        declared[1],
        declared[3],
    ]
    after = change_categories(question=question, scale="ordinal", categories=order, by=lead)
    assert [category.code for category in after.active_categories()] == [0, 4, 2, 1, 3]
    assert after.weight_matrix == [
        [1, 0, 0, 0.5, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0.5, 0.5],
        [0.5, 0, 0.5, 1, 0],
        [0, 0, 0.5, 0, 1],
    ]


def test_a_used_category_is_not_removed(question, lead, rate):
    rate(question, "i1", "a", "major")
    rate(question, "i2", "a", "major")
    before = state(question)
    without = [row for row in as_declared(question) if row[1].label != "major"]
    with pytest.raises(
        InvalidProjectChange, match="'major' cannot be removed: 2 ratings or gold answers use it"
    ):
        change_categories(question=question, scale="ordinal", categories=without, by=lead)
    assert state(question) == before


def test_a_category_that_only_the_counts_still_hold_is_not_removed(question, lead, rate):
    rate(question, "i1", "a", "major")
    update_question(question.pk)
    rate(question, "i1", "a", None)
    without = [row for row in as_declared(question) if row[1].label != "major"]
    with pytest.raises(InvalidProjectChange, match="1 rating or gold answer uses it"):
        change_categories(question=question, scale="ordinal", categories=without, by=lead)
    update_question(question.pk)
    change_categories(question=question, scale="ordinal", categories=without, by=lead)
    assert Category.objects.get(question=question, label="major").retired


def test_a_removed_label_comes_back_under_a_new_code(question, lead):
    declared = as_declared(question)
    question = change_categories(
        question=question, scale="ordinal", categories=declared[:3], by=lead
    )
    again = [*declared[:3], (None, NewCategory("critical", 3, "4"))]
    after = change_categories(question=question, scale="ordinal", categories=again, by=lead)
    assert [category.code for category in after.active_categories()] == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("place", "change"),
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
def test_a_malformed_scale_is_refused_and_changes_nothing(question, lead, place, change):
    before = state(question)
    with pytest.raises(InvalidProjectChange) as refused:
        change_categories(
            question=question, scale="ordinal", categories=change(as_declared(question)), by=lead
        )
    assert list(refused.value.fields) == [place]
    assert state(question) == before


def test_an_unknown_scale_is_refused_with_the_allowed_ones(question, lead):
    with pytest.raises(InvalidProjectChange, match="nominal, ordinal, interval, ratio"):
        change_categories(question=question, scale="odd", categories=as_declared(question), by=lead)


def test_a_change_made_meanwhile_is_not_overwritten(question, lead):
    seen = question.scale_version
    change_weights(question=question, weights="linear", matrix=None, by=lead, seen_version=seen)
    with pytest.raises(InvalidProjectChange, match="Somebody else"):
        change_weights(
            question=question, weights="quadratic", matrix=None, by=lead, seen_version=seen
        )
    assert Question.objects.get(pk=question.pk).weights == "linear"


def changed(row, column, value):
    matrix = [list(line) for line in MATRIX]
    matrix[row][column] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (None, "need a matrix"),
        (MATRIX[:3], "The matrix has 3 rows; 4 are needed"),
        ([*MATRIX[:3], [0, 0, 1]], "Row 4 of the matrix has 3 numbers; 4 are needed"),
        ("text", "list of rows"),
        (
            changed(1, 2, 0.4),
            r"not symmetric: row 3 \(major\), column 2 \(minor\) is 0.5, but row 2 .* is 0.4",
        ),
        (changed(1, 1, 0.9), r"row 2 \(minor\), column 2 \(minor\) is 0.9: equal answers"),
        (changed(0, 1, 1.5), r"row 1 \(none\), column 2 \(minor\) is 1.5: a number from 0 to 1"),
        (changed(0, 1, math.nan), "nan: a number from 0 to 1"),
        (changed(0, 1, "half"), "half: a number from 0 to 1"),
        (changed(0, 1, True), "True: a number from 0 to 1"),
        (changed(0, 1, 10**400), "a number from 0 to 1"),
        (changed(0, 1, None), "empty: a number from 0 to 1"),
    ],
)
def test_a_wrong_matrix_is_refused_and_named(question, lead, matrix, message):
    before = state(question)
    with pytest.raises(InvalidProjectChange, match=message) as refused:
        change_weights(question=question, weights="custom", matrix=matrix, by=lead)
    assert list(refused.value.fields) == ["weight_matrix"]
    assert state(question) == before


def test_unknown_weights_are_refused(question, lead):
    with pytest.raises(InvalidProjectChange, match="none, linear, quadratic, custom"):
        change_weights(question=question, weights="cubic", matrix=None, by=lead)


def test_new_weights_make_the_readings_anew(question, lead, rate):
    for item in "abc":
        rate(question, item, "r1", "none" if item == "a" else "major")
        rate(question, item, "r2", "minor" if item == "b" else "major")
    update_question(question.pk)
    assert (
        "fleiss_kappa_custom" not in Reading.objects.get(question=question, span="all").coefficients
    )
    change_weights(question=question, weights="custom", matrix=MATRIX, by=lead)
    assert list_pending_questions() == [question.pk]
    update_question(question.pk)
    assert "fleiss_kappa_custom" in Reading.objects.get(question=question, span="all").coefficients
    assert list_pending_questions() == []


def test_what_a_question_declared_before_is_kept(question, lead):
    first, began = question.declared(), timezone.now()
    change_weights(question=question, weights="linear", matrix=None, by=lead)
    between = timezone.now()
    renamed = [(code, NewCategory(f"{new.label}!")) for code, new in as_declared(question)]
    change_categories(question=question, scale="ordinal", categories=renamed, by=lead)
    with pytest.raises(InvalidProjectChange):
        change_weights(question=question, weights="odd", matrix=None, by=lead)
    now = Question.objects.get(pk=question.pk)
    assert ScaleVersion.get_at(now, began) == (1, first)
    assert ScaleVersion.get_at(now, between) == (2, first | {"weights": "linear"})
    assert ScaleVersion.get_at(now, timezone.now()) == (3, now.get_declaration())
    assert now.get_declaration()["categories"][0]["label"] == "none!"
    assert list(ScaleVersion.objects.values_list("number", "by")) == [(1, lead.pk), (2, lead.pk)]


def test_labels_that_are_drawn_alike_are_one_label() -> None:
    """Composed in two ways, or with a letter of another alphabet."""
    for one, other in (("caf\u00e9", "cafe\u0301"), ("pass", "p\u0430ss")):
        found = find_category_problems([NewCategory(one), NewCategory(other)], scale="nominal")
        assert found == {"1": {"label": f"{other!r} stands at 0 already (counted from 0)."}}
    assert not find_category_problems([NewCategory("Yes"), NewCategory("yes")], scale="nominal")

"""The database keeps the rules: each named constraint of the three apps is broken once, and the
database refuses."""

from __future__ import annotations

import datetime

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from metrics.models import (
    Attribution,
    PairTally,
    PatternTally,
    PeerTally,
    RaterReading,
    Reading,
    Share,
    Slice,
)
from projects.models import (
    ApiToken,
    Category,
    GuidelineVersion,
    Item,
    Member,
    Project,
    Question,
    Rater,
)
from ratings.models import Assignment, ImportRun, Rating, Revision

pytestmark = pytest.mark.django_db

NOW = timezone.now()
YESTERDAY = NOW - datetime.timedelta(days=1)

# Name -> model, and what differs from the row that stands: nothing, where a second one is one too
# many.
BROKEN = {
    "project_name_given": (Project, {"name": ""}),
    "project_overlap_positive": (Project, {"overlap": 0}),
    "project_queue_order_known": (Project, {"queue_order": "odd"}),
    "guideline_version_unique": (GuidelineVersion, {}),
    "guideline_version_counted": (GuidelineVersion, {"number": 0}),
    "question_key_unique": (Question, {}),
    "question_key_given": (Question, {"key": ""}),
    "question_scale_known": (Question, {"key": "q", "scale": "odd"}),
    "question_weights_known": (Question, {"key": "q", "weights": "odd"}),
    "question_custom_has_matrix": (
        Question,
        {"key": "q", "weights": "custom", "weight_matrix": None},
    ),
    "category_code_unique": (Category, {"label": "other", "hotkey": ""}),
    "category_label_unique": (Category, {"code": 9, "hotkey": ""}),
    "category_hotkey_unique": (Category, {"code": 9, "label": "other"}),
    "category_label_given": (Category, {"code": 9, "label": "", "hotkey": ""}),
    "item_key_unique": (Item, {}),
    "item_key_given": (Item, {"key": ""}),
    "rater_key_unique": (Rater, {"user": None}),
    "rater_user_unique": (Rater, {"key": "other"}),
    "rater_key_given": (Rater, {"key": "", "user": None}),
    "rater_kind_known": (Rater, {"key": "other", "user": None, "kind": "odd"}),
    "member_user_unique": (Member, {}),
    "member_role_known": (Member, {"user": "stranger", "role": "odd"}),
    "token_scope_known": (ApiToken, {"digest": "d2", "scope": "odd"}),
    "token_expires_later": (ApiToken, {"digest": "d2", "expires_at": YESTERDAY}),
    "rating_unique": (Rating, {}),
    "rating_code_valid": (Rating, {"item": "second", "code": -2}),
    "rating_counted_valid": (Rating, {"item": "second", "counted": -2}),
    "rating_seconds_valid": (Rating, {"item": "second", "seconds": -1.0}),
    "revision_code_valid": (Revision, {"code": -2}),
    "revision_source_known": (Revision, {"source": "odd"}),
    "assignment_unique": (Assignment, {}),
    "assignment_state_known": (Assignment, {"item": "second", "state": "odd", "closed_at": NOW}),
    "assignment_closed_has_time": (
        Assignment,
        {"item": "second", "state": "done", "closed_at": None},
    ),
    "import_state_known": (ImportRun, {"state": "odd"}),
    "import_progress_bounded": (ImportRun, {"rows_total": 1, "rows_done": 2}),
    "import_writes_into_question": (ImportRun, {"state": "writing", "question": None}),
    "share_unique": (Share, {}),
    "pattern_tally_unique": (PatternTally, {}),
    "pair_tally_unique": (PairTally, {}),
    "pair_tally_ordered": (PairTally, {"rater_a": "late", "rater_b": "early"}),
    "peer_tally_unique": (PeerTally, {}),
    "reading_unique": (Reading, {}),
    "reading_span_known": (Reading, {"span": "year"}),
    "rater_reading_unique": (RaterReading, {}),
    "rater_reading_span_known": (RaterReading, {"span": "day"}),
    "attribution_unique": (Attribution, {}),
    "attribution_span_known": (Attribution, {"span": "year"}),
    "attribution_has_result": (
        Attribution,
        {"weights": "linear", "waiting": False, "result": None},
    ),
    "slice_unique": (Slice, {}),
    "slice_kind_known": (Slice, {"key": "other", "kind": "odd"}),
    "slice_has_body": (Slice, {"key": "other", "waiting": False, "body": None}),
}


def test_every_named_constraint_is_broken_here():
    models = [
        model
        for app in ("projects", "ratings", "metrics")
        for model in apps.get_app_config(app).get_models()
    ]
    assert {constraint.name for model in models for constraint in model._meta.constraints} == set(
        BROKEN
    )


@pytest.fixture
def standing(project, lead, stranger):
    """Model -> the fields of a row that stands, and words for other rows."""
    question = project.questions.get()
    first, second = (Item.objects.create(project=project, key=key) for key in ("first", "second"))
    early, late = project.raters.get(), Rater.objects.create(project=project, key="late")
    rating = {
        "question": question,
        "item": first,
        "rater": early,
        "code": 0,
        "rated_at": NOW,
        "changed_at": NOW,
    }
    tally = {"question": question, "day": 1, "width": 4}
    made = Rating.objects.create(**rating, day=1)
    words = {"second": second, "early": early, "late": late, "stranger": stranger}
    rows = {
        Project: {"name": "P"},
        GuidelineVersion: {"project": project, "number": 1, "made_at": NOW},
        Question: {"project": project, "key": question.key, "text": "?"},
        Category: {"question": question, "code": 0, "label": "none", "position": 0, "hotkey": "1"},
        Item: {"project": project, "key": "first"},
        Rater: {"project": project, "key": "ann", "user": early.user},
        Member: {"project": project, "user": lead, "role": "lead"},
        ApiToken: {"user": lead, "prefix": "p", "digest": "d"},
        Rating: {**rating, "day": 1},
        Revision: {"rating": made, "code": 0, "rated_at": NOW, "recorded_at": NOW, "source": "api"},
        Assignment: {"item": first, "rater": early, "leased_until": NOW},
        ImportRun: {"project": project, "question": question, "file_name": "f", "path": "p"},
        Share: {"question": question, "first": 1, "last": 9, "lease": "ours", "leased_until": NOW},
        PatternTally: {**tally, "patterns": b""},
        PairTally: {
            "question": question,
            "rater_a": early,
            "rater_b": late,
            "width": 4,
            "table": b"",
            "n_items": 1,
        },
        PeerTally: {
            **tally,
            "rater": early,
            "table": b"",
            "moments": b"",
            "n_items": 1,
            "n_ratings": 1,
        },
        Reading: {"question": question, "span": "all", "computed_at": NOW},
        RaterReading: {
            "question": question,
            "rater": early,
            "span": "all",
            "n_ratings": 1,
            "computed_at": NOW,
        },
        Attribution: {
            "question": question,
            "span": "week",
            "start_from": YESTERDAY.date(),
            "start_to": NOW.date(),
            "weights": "none",
            "asked_at": NOW,
        },
        Slice: {"question": question, "kind": "dashboard", "key": "k", "spec": {}, "asked_at": NOW},
    }
    counts = (Share, PatternTally, PairTally, PeerTally, Reading, RaterReading, Attribution, Slice)
    for model in (GuidelineVersion, ApiToken, Assignment, *counts):
        model.objects.create(**rows[model])
    return rows, words


@pytest.mark.parametrize("name", BROKEN)
def test_the_database_refuses_what_breaks(name, standing):
    rows, words = standing
    model, change = BROKEN[name]
    fields = rows[model] | {
        field: words.get(value, value) if isinstance(value, str) else value
        for field, value in change.items()
    }
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        # bulk_create: straight to the database, past everything in Python that may refuse earlier.
        model.objects.bulk_create([model(**fields)])
    if connection.vendor == "postgresql":
        assert refused.value.__cause__.diag.constraint_name == name
    elif "UNIQUE" not in str(refused.value):
        assert name in str(refused.value)


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (Category, {"code": 8, "retired": True}),
        (Category, {"code": 8, "label": "new", "hotkey": ""}),
        (Rater, {"key": "more", "user": None}),
        (Rating, {"item": "second", "code": -1, "seconds": 0.0}),
        (Assignment, {"item": "second", "state": "done", "closed_at": NOW}),
    ],
)
def test_what_only_looks_alike_is_kept(model, change, standing):
    rows, words = standing
    fields = rows[model] | {
        name: words[value] if value == "second" else value for name, value in change.items()
    }
    model.objects.bulk_create([model(**fields)])


def test_a_version_of_guidelines_is_never_changed(standing):
    version = GuidelineVersion.objects.get()
    version.text = "Other words"
    with pytest.raises(TypeError):
        version.save()


def test_a_revision_is_never_changed_and_never_deleted(standing):
    rows, _words = standing
    revision = Revision.objects.create(**rows[Revision])
    revision.code = 2
    with pytest.raises(TypeError):
        revision.save()
    with pytest.raises(TypeError):
        revision.delete()

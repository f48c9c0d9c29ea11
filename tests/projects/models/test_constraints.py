"""Database constraints: each named constraint of the apps is violated once and rejected."""

from __future__ import annotations

import datetime
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from django.utils import timezone

from events.models import Delivery, Event, EventBatch, Webhook
from metrics.models import (
    Attribution,
    BacklogRange,
    FilteredResult,
    PairTally,
    PatternTally,
    PeerTally,
    RaterResult,
    Report,
    Result,
    SavedView,
    ShareLink,
)
from projects.models import (
    ApiToken,
    Approval,
    Category,
    Deletion,
    GoldAnswer,
    GuidelineVersion,
    Item,
    ItemVersion,
    Member,
    MemberOffer,
    Project,
    Question,
    Rater,
    RaterIdentity,
    RaterKindVersion,
    ScaleVersion,
)
from quality.models import (
    Alert,
    AlertSettings,
    AlertStep,
    Appeal,
    Consensus,
    Decision,
    DriftState,
    Escalation,
    Gate,
    GateVerdict,
    GoldIntervention,
    GoldReview,
    GoldScore,
    GoldState,
    ItemLabel,
    LabelRules,
    RaterCheck,
    RaterConfusion,
    RepeatScore,
    ReviewAssignment,
    ReviewClaim,
    SecondOpinion,
)
from ratings.models import (
    Assignment,
    CheckAnswer,
    DataFolder,
    Exam,
    ExamRules,
    ExportRun,
    ImportFilePart,
    ImportRun,
    LabelStudioConnection,
    LabelStudioObject,
    RaterMessage,
    Rating,
    Revision,
)

pytestmark = pytest.mark.django_db

NOW = timezone.now()
YESTERDAY = NOW - datetime.timedelta(days=1)

# Constraint name -> (model, changes to its existing row that violate the constraint). Without
# changes a second equal row is the violation.
VIOLATIONS: dict[str, tuple[type[Model], dict[str, Any]]] = {
    "project_name_not_empty": (Project, {"name": ""}),
    "project_overlap_positive": (Project, {"overlap": 0}),
    "project_queue_order_valid": (Project, {"queue_order": "odd"}),
    "project_band_scheme_valid": (Project, {"band_scheme": "odd"}),
    "project_quality_check_percentages": (Project, {"repeat_percent": 21}),
    "project_repeat_distance": (Project, {"repeat_after_items": 9}),
    "project_target_agreement_range": (Project, {"target_agreement": 1.5}),
    "gate_unique": (Gate, {}),
    "gate_has_name": (Gate, {"name": ""}),
    "gate_verdict_known": (Gate, {"name": "other", "verdict": "odd"}),
    "gate_verdict_unique": (GateVerdict, {}),
    "gate_verdict_has_document": (GateVerdict, {"as_of": YESTERDAY, "document": None}),
    "guideline_version_unique": (GuidelineVersion, {}),
    "guideline_version_counted": (GuidelineVersion, {"number": 0}),
    "question_key_unique": (Question, {}),
    "question_key_not_empty": (Question, {"key": ""}),
    "question_scale_valid": (Question, {"key": "q", "scale": "odd"}),
    "question_weights_valid": (Question, {"key": "q", "weights": "odd"}),
    "question_headline_has_note": (Question, {"key": "q", "headline": "gwet_ac1"}),
    "question_custom_has_matrix": (
        Question,
        {"key": "q", "weights": "custom", "weight_matrix": None},
    ),
    "question_gold_tolerance_valid": (Question, {"key": "q", "gold_tolerance": -1}),
    "category_code_unique": (Category, {"label": "other", "hotkey": ""}),
    "category_label_unique": (Category, {"code": 9, "hotkey": ""}),
    "category_hotkey_unique": (Category, {"code": 9, "label": "other"}),
    "category_label_not_empty": (Category, {"code": 9, "label": "", "hotkey": ""}),
    "item_key_unique": (Item, {}),
    "item_key_not_empty": (Item, {"key": ""}),
    "item_version_counted": (Item, {"key": "other", "version": 0}),
    "item_version_unique": (ItemVersion, {}),
    "item_version_from_one": (ItemVersion, {"number": 0}),
    "scale_version_unique": (ScaleVersion, {}),
    "scale_version_from_one": (ScaleVersion, {"number": 0}),
    "deletion_kind_valid": (Deletion, {"target": 8, "kind": "odd"}),
    "deletion_unfinished": (Deletion, {}),
    "approval_action_known": (Approval, {"action": "odd"}),
    "approval_state_known": (Approval, {"action": "share_names", "state": "approved"}),
    "approval_used_if_approved": (Approval, {"action": "share_names", "used_at": NOW}),
    "approval_open_once": (Approval, {}),
    "gold_version_unique": (GoldAnswer, {"retired_at": NOW}),
    "gold_unique_in_force": (GoldAnswer, {"version": 2}),
    "gold_version_from_one": (GoldAnswer, {"version": 0, "retired_at": NOW}),
    "gold_retired_after_created": (GoldAnswer, {"version": 2, "retired_at": YESTERDAY}),
    "rater_key_unique": (Rater, {"user": None}),
    "rater_user_unique": (Rater, {"key": "other"}),
    "rater_key_not_empty": (Rater, {"key": "", "user": None}),
    "rater_model_fields_only_for_models": (Rater, {"key": "other", "user": None, "model": "gpt"}),
    "rater_kind_valid": (Rater, {"key": "other", "user": None, "kind": "odd"}),
    "rater_identity_key_unique": (RaterIdentity, {"rater": "late"}),
    "rater_identity_key_not_empty": (RaterIdentity, {"rater": "late", "key": ""}),
    "kind_version_unique": (RaterKindVersion, {}),
    "kind_version_valid": (RaterKindVersion, {"until": YESTERDAY, "kind": "odd"}),
    "member_user_unique": (Member, {}),
    "member_role_valid": (Member, {"user": "stranger", "role": "odd"}),
    "member_offer_unique": (MemberOffer, {}),
    "member_offer_role_valid": (MemberOffer, {"username": "other", "role": "odd"}),
    "token_scope_valid": (ApiToken, {"digest": "d2", "scope": "odd"}),
    "token_expires_later": (ApiToken, {"digest": "d2", "expires_at": YESTERDAY}),
    "rater_message_text_given": (RaterMessage, {"text": ""}),
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
    "assignment_kind_valid": (Assignment, {"item": "second", "kind": "odd"}),
    "check_answer_one_current": (CheckAnswer, {}),
    "check_answer_code_valid": (CheckAnswer, {"item": "second", "code": -2}),
    "check_answer_kind_valid": (CheckAnswer, {"item": "second", "kind": ""}),
    "check_answer_seconds_valid": (CheckAnswer, {"item": "second", "seconds": -1.0}),
    "export_state_valid": (ExportRun, {"state": "odd"}),
    "export_done_has_file": (ExportRun, {"state": "done"}),
    "import_state_valid": (ImportRun, {"state": "odd"}),
    "import_progress_bounded": (ImportRun, {"rows_total": 1, "rows_done": 2}),
    "import_writes_into_project": (ImportRun, {"state": "writing", "project": None}),
    "backlog_range_unique": (BacklogRange, {}),
    "pattern_tally_unique": (PatternTally, {}),
    "pattern_tally_population_valid": (PatternTally, {"population": "odd"}),
    "pair_tally_unique": (PairTally, {}),
    "pair_tally_ordered": (PairTally, {"rater_a": "late", "rater_b": "early"}),
    "peer_tally_unique": (PeerTally, {}),
    "result_unique": (Result, {}),
    "result_period_unit_valid": (Result, {"period_unit": "year"}),
    "rater_result_unique": (RaterResult, {}),
    "attribution_unique": (Attribution, {}),
    "attribution_period_unit_valid": (Attribution, {"period_unit": "year"}),
    "attribution_has_result": (
        Attribution,
        {"weights": "linear", "pending": False, "result": None},
    ),
    "saved_view_unique": (SavedView, {}),
    "saved_view_page_valid": (SavedView, {"name": "other", "page": "odd"}),
    "saved_view_has_name": (SavedView, {"name": ""}),
    "share_link_expires_later": (
        ShareLink,
        {"digest": "other", "created_at": NOW, "expires_at": YESTERDAY},
    ),
    "report_unique": (Report, {}),
    "report_has_facts": (Report, {"as_of": YESTERDAY, "pending": False, "facts": None}),
    "filtered_result_unique": (FilteredResult, {}),
    "filtered_result_kind_valid": (FilteredResult, {"key": "other", "kind": "odd"}),
    "filtered_result_has_body": (FilteredResult, {"key": "other", "pending": False, "body": None}),
    "consensus_method_known": (Consensus, {"method": "dice"}),
    "item_label_unique": (ItemLabel, {}),
    "item_label_source_known": (ItemLabel, {"item": "second", "source": "odd"}),
    "rater_confusion_unique": (RaterConfusion, {}),
    "decision_number_unique": (Decision, {}),
    "decision_number_counted": (Decision, {"number": 0}),
    "review_claim_unique": (ReviewClaim, {}),
    "review_assignment_unique": (ReviewAssignment, {}),
    "label_rules_certain_from": (LabelRules, {"certain_from": 1.0}),
    "appeal_unique": (Appeal, {}),
    "appeal_about_known": (Appeal, {"rater": "late", "about": "odd"}),
    "appeal_answered_has_time": (Appeal, {"rater": "late", "state": "upheld"}),
    "label_rules_second_opinion_share": (LabelRules, {"second_opinion_share": 1.5}),
    "second_opinion_unique": (SecondOpinion, {}),
    "label_rules_max_ratings": (LabelRules, {"max_ratings": 1}),
    "escalation_unique": (Escalation, {}),
    "escalation_state_known": (Escalation, {"item": "second", "state": "odd"}),
    "escalation_reason_known": (Escalation, {"item": "second", "reason": "odd"}),
    "event_kind_not_empty": (Event, {"kind": ""}),
    "event_batch_unique": (EventBatch, {}),
    "webhook_pause_has_reason": (Webhook, {"paused_at": NOW}),
    "webhook_format_valid": (Webhook, {"format": "odd"}),
    "webhook_robot_secret_has_use": (Webhook, {"robot_secret": "SEC1"}),
    "data_folder_unique": (DataFolder, {}),
    "import_file_part_unique": (ImportFilePart, {}),
    "label_studio_unique": (LabelStudioConnection, {}),
    "label_studio_state_valid": (LabelStudioConnection, {"remote_project": 2, "state": "odd"}),
    "label_studio_write_back_valid": (
        LabelStudioConnection,
        {"remote_project": 2, "write_back": "odd"},
    ),
    "label_studio_object_unique": (LabelStudioObject, {"task": 8}),
    "label_studio_object_one_a_task": (LabelStudioObject, {"remote_id": 8}),
    "label_studio_object_kind_valid": (LabelStudioObject, {"kind": "odd"}),
    "delivery_unique": (Delivery, {}),
    "delivery_pending_has_time": (Delivery, {"event": None, "next_at": None}),
    "exam_rules_pass_above_fail": (ExamRules, {"p_fail": 0.9}),
    "exam_rules_errors": (ExamRules, {"beta": 0.6}),
    "exam_rules_positive": (ExamRules, {"max_attempts": 0}),
    "exam_number_unique": (Exam, {"state": "failed", "ended_at": NOW}),
    "exam_one_open": (Exam, {"number": 2}),
    "exam_state_known": (Exam, {"rater": "late", "state": "odd", "ended_at": NOW}),
    "exam_ended_has_time": (Exam, {"rater": "late", "state": "passed"}),
    "rater_gold_notice_valid": (Rater, {"key": "x", "user": None, "gold_notice": "odd"}),
    "gold_rule_known": (GoldState, {"rule": "odd"}),
    "gold_intervention_one_current": (GoldIntervention, {"state": "done", "decided_at": NOW}),
    "gold_intervention_step_known": (GoldIntervention, {"step": "odd"}),
    "gold_intervention_decided_has_time": (GoldIntervention, {"step": "pause", "decided_at": NOW}),
    "gold_pass_mark_reachable": (GoldState, {"pass_mark": 1.0}),
    "gold_score_unique": (GoldScore, {}),
    "gold_score_of_answers": (GoldScore, {"rater": "late", "right": 2}),
    "repeat_score_unique": (RepeatScore, {}),
    "repeat_score_of_answers": (RepeatScore, {"rater": "late", "same": 2}),
    "gold_review_verdict_known": (GoldReview, {"verdict": "odd"}),
    "alert_unique": (Alert, {}),
    "alert_kind_known": (Alert, {"rater": "late", "kind": "odd"}),
    "alert_measure_known": (Alert, {"rater": "late", "measure": "odd"}),
    "alert_state_known": (Alert, {"rater": "late", "state": "odd"}),
    "alert_cause_known": (Alert, {"rater": "late", "cause": "odd"}),
    "alert_sensitivity_known": (AlertSettings, {"sensitivity": "odd"}),
    "alert_step_state_known": (AlertStep, {"state": "odd"}),
    "drift_state_unique": (DriftState, {}),
    "rater_check_unique": (RaterCheck, {}),
}


def test_every_named_constraint_is_covered():
    models = [
        model
        for app in ("projects", "events", "ratings", "metrics", "quality")
        for model in apps.get_app_config(app).get_models()
    ]
    assert {constraint.name for model in models for constraint in model._meta.constraints} == set(
        VIOLATIONS
    )


@pytest.fixture
def existing_rows(project, lead, stranger):
    """Return ({model: fields of an existing row}, {word in VIOLATIONS: its object})."""
    question = project.questions.get()
    first, second = (Item.objects.create(project=project, key=key) for key in ("first", "second"))
    early, late = project.raters.get(), Rater.objects.create(project=project, key="late")
    rating_fields = {
        "question": question,
        "item": first,
        "rater": early,
        "code": 0,
        "rated_at": NOW,
        "changed_at": NOW,
    }
    tally_fields = {"question": question, "day": 1, "width": 4}
    stored_rating = Rating.objects.create(**rating_fields, day=1)
    today = NOW.date()
    alert_fields = {
        "question": question,
        "rater": early,
        "kind": "rater_drift",
        "measure": "bias",
        "since": today,
        "since_earliest": today,
        "since_latest": today,
        "detected_on": today,
        "created_at": NOW,
        "size": -0.3,
        "low": -0.4,
        "high": -0.2,
        "n": 60,
        "n_before": 90,
        "evidence": 5000.0,
    }
    stored_alert = Alert.objects.create(**alert_fields)
    gold_answer = GoldAnswer.objects.create(
        item=second, question=question, version=1, answer=[0], created_at=NOW
    )
    objects = {"second": second, "early": early, "late": late, "stranger": stranger}
    view = SavedView.objects.create(project=project, page="dashboard", name="v")
    run = ImportRun.objects.create(project=project, file_name="g", path="q")
    gate_fields = {
        "project": project,
        "question": question,
        "name": "release",
        "rules": [],
        "created_at": NOW,
        "changed_at": NOW,
    }
    gate = Gate.objects.create(**gate_fields)
    rows = {
        SavedView: {"project": project, "page": "dashboard", "name": "v"},
        ShareLink: {"view": view, "digest": "d", "expires_at": NOW},
        Project: {"name": "P"},
        Gate: gate_fields,
        GateVerdict: {
            "gate": gate,
            "as_of": NOW,
            "document": {},
            "pending": False,
            "requested_at": NOW,
        },
        GuidelineVersion: {"project": project, "number": 1, "created_at": NOW},
        Question: {"project": project, "key": question.key, "text": "?"},
        Category: {"question": question, "code": 0, "label": "none", "position": 0, "hotkey": "1"},
        Approval: {
            "project": project,
            "action": "delete_project",
            "reason": "over",
            "requested_by": lead,
            "requested_at": NOW,
        },
        Deletion: {"kind": "item", "target": 7, "requested_at": NOW},
        ItemVersion: {"item": first, "number": 1, "until": NOW},
        ScaleVersion: {"question": question, "number": 1, "declaration": {}, "until": NOW},
        GoldAnswer: {
            "item": first,
            "question": question,
            "version": 1,
            "answer": [0],
            "created_at": NOW,
        },
        Item: {"project": project, "key": "first"},
        Rater: {"project": project, "key": "ann", "user": early.user},
        RaterIdentity: {"project": project, "rater": early, "key": "ann"},
        RaterKindVersion: {"rater": early, "kind": "human", "until": NOW},
        Member: {"project": project, "user": lead, "role": "lead"},
        MemberOffer: {"project": project, "username": "u", "role": "lead", "created_at": NOW},
        ApiToken: {"user": lead, "prefix": "p", "digest": "d"},
        Rating: {**rating_fields, "day": 1},
        Revision: {
            "rating": stored_rating,
            "code": 0,
            "rated_at": NOW,
            "recorded_at": NOW,
            "source": "api",
        },
        Assignment: {"item": first, "rater": early, "leased_until": NOW},
        CheckAnswer: {**rating_fields, "kind": "gold", "source": "form"},
        ImportRun: {"project": project, "question": question, "file_name": "f", "path": "p"},
        ExportRun: {"project": project, "kind": "ratings", "file_format": "csv", "folder": "t"},
        ImportFilePart: {"run": run, "number": 0, "data": b""},
        DataFolder: {"kind": "media", "host": "a", "token": "t", "seen_at": NOW},
        BacklogRange: {
            "question": question,
            "first_item_id": 1,
            "last_item_id": 9,
            "lease": "ours",
            "leased_until": NOW,
        },
        PatternTally: {**tally_fields, "patterns": b""},
        PairTally: {
            "question": question,
            "rater_a": early,
            "rater_b": late,
            "width": 4,
            "table": b"",
            "n_items": 1,
        },
        PeerTally: {
            **tally_fields,
            "rater": early,
            "table": b"",
            "moments": b"",
            "n_items": 1,
            "n_ratings": 1,
        },
        Result: {"question": question, "period_unit": "all", "computed_at": NOW},
        RaterResult: {
            "question": question,
            "rater": early,
            "n_ratings": 1,
            "computed_at": NOW,
        },
        Attribution: {
            "question": question,
            "period_unit": "week",
            "earlier_start": YESTERDAY.date(),
            "later_start": NOW.date(),
            "weights": "none",
            "requested_at": NOW,
        },
        Report: {"question": question, "as_of": NOW, "requested_at": NOW},
        FilteredResult: {
            "question": question,
            "kind": "dashboard",
            "key": "k",
            "spec": {},
            "requested_at": NOW,
        },
        Consensus: {"question": question},
        ItemLabel: {
            "question": question,
            "item": first,
            "code": 0,
            "source": "consensus",
            "doubt": 0.0,
            "n_ratings": 1,
            "computed_at": NOW,
        },
        RaterConfusion: {
            "question": question,
            "rater": early,
            "confusion": [],
            "expected_counts": [],
            "accuracy": 0.5,
        },
        Decision: {"question": question, "item": first, "number": 1, "created_at": NOW},
        ReviewClaim: {"question": question, "item": first, "by": lead, "expires_at": NOW},
        ReviewAssignment: {"question": question, "item": first, "by": lead},
        LabelRules: {"question": question},
        Appeal: {
            "question": question,
            "item": first,
            "rater": early,
            "text": "No.",
            "created_at": NOW,
        },
        SecondOpinion: {"question": question, "item": first, "code": 0, "created_at": NOW},
        Escalation: {"question": question, "item": first, "state": "certain", "changed_at": NOW},
        Alert: alert_fields,
        AlertSettings: {"project": project},
        AlertStep: {"alert": stored_alert, "state": "open", "at": NOW},
        RaterCheck: {"question": question, "rater": early, "checked_at": NOW},
        DriftState: {
            "question": question,
            "rater": early,
            "evidence": 1.0,
            "max_evidence": 1.0,
            "watched": False,
            "n": 1,
        },
        ExamRules: {"question": question},
        Exam: {"question": question, "rater": early, "number": 1, "started_at": NOW},
        GoldState: {"question": question},
        GoldIntervention: {
            "question": question,
            "rater": early,
            "step": "warn",
            "state": "proposed",
            "evidence": 30.0,
            "n_answers": 9,
            "created_at": NOW,
        },
        GoldScore: {
            "question": question,
            "rater": early,
            "n": 1,
            "right": 1,
            "accuracy": 1.0,
            "low": 0.2,
            "high": 1.0,
            "table": [],
            "kappa": {},
            "evidence": 1.0,
            "max_evidence": 1.0,
        },
        RepeatScore: {
            "question": question,
            "rater": early,
            "n": 1,
            "same": 1,
            "low": 0.2,
            "high": 1.0,
            "table": [],
            "kappa": {},
        },
        GoldReview: {"gold": gold_answer, "verdict": "keep", "created_at": NOW},
        RaterMessage: {"rater": early, "text": "Look twice.", "sent_at": NOW},
        Event: {"project": project, "kind": "alert.opened", "at": NOW},
        EventBatch: {
            "project": project,
            "kind": "label.changed",
            "subject": "question/1",
            "next_at": NOW,
        },
        Webhook: {"project": project, "url": "https://example.org/", "created_at": NOW},
        LabelStudioConnection: {
            "project": project,
            "address": "https://example.org",
            "remote_project": 1,
            "next_at": NOW,
            "created_at": NOW,
        },
    }
    count_models = (BacklogRange, PatternTally, PairTally, PeerTally, Result, RaterResult)
    requested_models = (Attribution, FilteredResult, Report)
    label_models = (
        ItemLabel,
        RaterConfusion,
        Decision,
        ReviewClaim,
        ReviewAssignment,
        Escalation,
        Appeal,
        DriftState,
        RaterCheck,
        GoldScore,
        RepeatScore,
    )
    for model in (
        GuidelineVersion,
        Approval,
        Deletion,
        ItemVersion,
        ScaleVersion,
        RaterKindVersion,
        RaterIdentity,
        GoldAnswer,
        MemberOffer,
        ApiToken,
        GateVerdict,
        Assignment,
        CheckAnswer,
        Exam,
        GoldIntervention,
        EventBatch,
        DataFolder,
        ImportFilePart,
        *count_models,
        *requested_models,
        *label_models,
    ):
        model.objects.create(**rows[model])
    rows[Delivery] = {
        "webhook": Webhook.objects.create(**rows[Webhook]),
        "event": Event.objects.create(**rows[Event]),
        "next_at": NOW,
        "created_at": NOW,
    }
    Delivery.objects.create(**rows[Delivery])
    rows[LabelStudioObject] = {
        "connection": LabelStudioConnection.objects.create(**rows[LabelStudioConnection]),
        "kind": "task",
        "remote_id": 7,
        "task": 7,
    }
    LabelStudioObject.objects.create(**rows[LabelStudioObject])
    rows[SecondOpinion]["decision"] = Decision.objects.get()
    SecondOpinion.objects.create(**rows[SecondOpinion])
    return rows, objects


@pytest.mark.parametrize("name", VIOLATIONS)
def test_database_rejects_each_violation(name, existing_rows):
    rows, objects = existing_rows
    model, change = VIOLATIONS[name]
    fields = rows[model] | {
        field: objects.get(value, value) if isinstance(value, str) else value
        for field, value in change.items()
    }
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        # bulk_create bypasses the checks in Python, which would reject the row earlier.
        model._default_manager.bulk_create([model(**fields)])
    if connection.vendor == "postgresql":
        cause = error.value.__cause__
        assert isinstance(cause, psycopg.Error) and cause.diag.constraint_name == name
    elif "UNIQUE" not in str(error.value):
        assert name in str(error.value)


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
def test_similar_valid_row_is_stored(model, change, existing_rows):
    rows, objects = existing_rows
    fields = rows[model] | {
        name: objects[value] if value == "second" else value for name, value in change.items()
    }
    model._default_manager.bulk_create([model(**fields)])


def test_a_version_of_guidelines_is_never_changed(existing_rows):
    version = GuidelineVersion.objects.get()
    version.text = "Other words"
    with pytest.raises(TypeError):
        version.save()


def test_a_revision_is_never_changed_and_never_deleted(existing_rows):
    rows, _objects = existing_rows
    revision = Revision.objects.create(**rows[Revision])
    revision.code = 2
    with pytest.raises(TypeError):
        revision.save()
    with pytest.raises(TypeError):
        revision.delete()

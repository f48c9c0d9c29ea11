"""Tests of the admin: it shows every model, keeps history read-only, and needs few queries."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.utils import timezone

from agreement_site.models import AttemptCounter, PasswordChangeRequired, Preference, StaleQuestion
from events.models import EventBatch, FeedState
from metrics.jobs.question_updates import update_question
from projects.models import ApiToken, Category, IdempotentResponse, Item, Question
from ratings.models import Assignment, DataFolder, ImportFilePart, Rating, Revision
from tests.cast import rate_many

pytestmark = pytest.mark.django_db

PROJECT_APPS = ("agreement_site", "events", "metrics", "projects", "quality", "ratings")
# Internal bookkeeping: attempts, stale questions, passwords to change, preferences, folders, parts of
# files, encrypted responses.
INTERNAL_MODELS = (
    PasswordChangeRequired,
    Preference,
    AttemptCounter,
    StaleQuestion,
    DataFolder,
    ImportFilePart,
    EventBatch,
    FeedState,
    IdempotentResponse,
)
MODELS: list[Any] = [
    model
    for app in PROJECT_APPS
    for model in apps.get_app_config(app).get_models()
    if model not in INTERNAL_MODELS
]
READ_ONLY_MODELS = (Rating, Revision, Assignment, Question, Category, Item, ApiToken)


def get_admin_url(model, page="changelist", *args):
    from django.urls import reverse

    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


@pytest.fixture
def filled_project(project, question, admin, api_for):
    """Return a project with rows in most tables."""
    rate_many(
        question,
        (
            (f"i{number}", rater, "minor" if number % 2 else "major")
            for number in range(12)
            for rater in "abc"
        ),
    )
    Assignment.objects.create(
        item=project.items.first(), rater=project.raters.first(), leased_until=timezone.now()
    )
    update_question(question.pk)
    api_for(admin)
    return project


def test_each_model_has_a_list_with_few_queries(
    filled_project, client_for, admin, django_assert_max_num_queries
):
    client = client_for(admin)
    for model in MODELS:
        assert model in django_admin.site._registry, model
        with django_assert_max_num_queries(8, info=str(model)):
            assert client.get(get_admin_url(model)).status_code == 200, model
        if django_admin.site._registry[model].search_fields:
            assert client.get(get_admin_url(model), {"q": "minor"}).status_code == 200, model


def test_each_model_has_a_detail_page(filled_project, client_for, admin):
    client = client_for(admin)
    for model in MODELS:
        row = model.objects.first()
        if row is not None:
            assert client.get(get_admin_url(model, "change", row.pk)).status_code == 200, model


def test_history_and_counts_are_read_only(filled_project, client_for, admin):
    client = client_for(admin)
    read_only_models: list[Any] = [*READ_ONLY_MODELS, *apps.get_app_config("metrics").get_models()]
    for model in read_only_models:
        assert client.post(get_admin_url(model, "add")).status_code == 403, model
        row = model.objects.first()
        if row is not None:
            assert (
                client.post(get_admin_url(model, "change", row.pk), {"code": 3}).status_code == 403
            )
            assert (
                client.post(get_admin_url(model, "delete", row.pk), {"post": "yes"}).status_code
                == 403
            )
            assert model.objects.filter(pk=row.pk).exists(), model


def test_token_digest_is_not_shown(filled_project, client_for, admin):
    token = ApiToken.objects.get()
    page = client_for(admin).get(get_admin_url(ApiToken, "change", token.pk)).content.decode()
    assert token.prefix in page
    assert token.digest not in page


def test_superuser_can_revoke_tokens(filled_project, client_for, admin):
    token = ApiToken.objects.get()
    client_for(admin).post(
        get_admin_url(ApiToken), {"action": "revoke", "_selected_action": [token.pk]}
    )
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_lead_cannot_open_the_admin(client_for, lead):
    assert client_for(lead).get("/admin/", follow=True).status_code == 403


@pytest.mark.parametrize("name", ["COCO", "\u0441\u043e\u0441\u043e", "c\u043eco"])
def test_confusable_usernames_are_rejected(client_for, admin, make_user, name):
    make_user("coco")
    other_user = make_user("other")
    client = client_for(admin)
    new_account = {"username": name, "password1": "a new long password", "usable_password": "true"}
    new_account["password2"] = new_account["password1"]
    assert client.post(get_admin_url(type(admin), "add"), new_account).status_code == 200
    form_data = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "is_active": "on"}
    for new_name, status in ((name, 200), ("other-2", 302)):
        response = client.post(
            get_admin_url(type(admin), "change", other_user.pk), form_data | {"username": new_name}
        )
        assert response.status_code == status
    names = set(type(admin).objects.values_list("username", flat=True))
    assert names == {"admin", "coco", "other-2"}


def test_models_are_named_in_both_languages(client_for: Any, admin: Any) -> None:
    from agreement_site.navigation.admin_site import MODEL_NAMES

    registered = {
        model._meta.label
        for model in django_admin.site._registry
        if model._meta.label in MODEL_NAMES
    }
    assert registered == set(MODEL_NAMES)
    unnamed = {model._meta.label for model in MODELS} - set(MODEL_NAMES)
    assert not unnamed
    client = client_for(admin)
    english = client.get("/admin/").content.decode()
    assert "Rating revisions" in english
    chinese = client.get("/admin/", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "评分修订记录" in chinese
    assert "Rating revisions" not in chinese
    rating_list = client.get(
        "/admin/ratings/revision/", headers={"Accept-Language": "zh-hans"}
    ).content.decode()
    assert "评分修订记录" in rating_list

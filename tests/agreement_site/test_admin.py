"""The admin shows every model, changes nothing that is history, and asks the database a fixed
number of times."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.utils import timezone

from agreement_site.models import KnownPassword, Preference, SignInTries, UnreadSince
from metrics.jobs.question_updates import update_question
from projects.models import ApiToken, Category, Item, Question
from ratings.models import Assignment, Rating, Revision

pytestmark = pytest.mark.django_db

OURS = ("agreement_site", "events", "metrics", "projects", "quality", "ratings")
# What the site notes for itself: tries, since when nobody read, whose password is known, choices.
NOTES = (KnownPassword, Preference, SignInTries, UnreadSince)
MODELS: list[Any] = [
    model for app in OURS for model in apps.get_app_config(app).get_models() if model not in NOTES
]
HISTORY = (Rating, Revision, Assignment, Question, Category, Item, ApiToken)


def address(model, page="changelist", *args):
    from django.urls import reverse

    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


@pytest.fixture
def filled(project, question, rate, admin, api_for):
    for number in range(12):
        for rater in "abc":
            rate(question, f"i{number}", rater, "minor" if number % 2 else "major")
    Assignment.objects.create(
        item=project.items.first(), rater=project.raters.first(), leased_until=timezone.now()
    )
    update_question(question.pk)
    api_for(admin)
    return project


def test_each_model_has_a_list_that_costs_the_same_for_many_rows(
    filled, client_for, admin, django_assert_max_num_queries
):
    client = client_for(admin)
    for model in MODELS:
        assert model in django_admin.site._registry, model
        with django_assert_max_num_queries(8, info=str(model)):
            assert client.get(address(model)).status_code == 200, model
        if django_admin.site._registry[model].search_fields:
            assert client.get(address(model), {"q": "minor"}).status_code == 200, model


def test_each_row_can_be_looked_at(filled, client_for, admin):
    client = client_for(admin)
    for model in MODELS:
        row = model.objects.first()
        if row is not None:
            assert client.get(address(model, "change", row.pk)).status_code == 200, model


def test_what_is_history_or_counted_is_not_changed(filled, client_for, admin):
    client = client_for(admin)
    kept: list[Any] = [*HISTORY, *apps.get_app_config("metrics").get_models()]
    for model in kept:
        assert client.post(address(model, "add")).status_code == 403, model
        row = model.objects.first()
        if row is not None:
            assert client.post(address(model, "change", row.pk), {"code": 3}).status_code == 403
            assert client.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403
            assert model.objects.filter(pk=row.pk).exists(), model


def test_the_digest_of_a_token_is_not_shown(filled, client_for, admin):
    token = ApiToken.objects.get()
    page = client_for(admin).get(address(ApiToken, "change", token.pk)).content.decode()
    assert token.prefix in page
    assert token.digest not in page


def test_a_superuser_revokes_tokens(filled, client_for, admin):
    token = ApiToken.objects.get()
    client_for(admin).post(address(ApiToken), {"action": "revoke", "_selected_action": [token.pk]})
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_a_lead_has_no_admin(client_for, lead):
    assert client_for(lead).get("/admin/", follow=True).status_code == 403


@pytest.mark.parametrize("name", ["COCO", "\u0441\u043e\u0441\u043e", "c\u043eco"])
def test_no_account_is_made_or_renamed_to_be_taken_for_another(client_for, admin, make_user, name):
    make_user("coco")
    other = make_user("other")
    client = client_for(admin)
    new = {"username": name, "password1": "a new long password", "usable_password": "true"}
    new["password2"] = new["password1"]
    assert client.post(address(type(admin), "add"), new).status_code == 200
    sent = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "is_active": "on"}
    for renamed, status in ((name, 200), ("other-2", 302)):
        answer = client.post(address(type(admin), "change", other.pk), sent | {"username": renamed})
        assert answer.status_code == status
    names = set(type(admin).objects.values_list("username", flat=True))
    assert names == {"admin", "coco", "other-2"}

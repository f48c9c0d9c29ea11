"""Permanent deletion of items, raters and projects, and archiving.

Only a record of the deletion remains, and the counts stay exact.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.urls import reverse

from metrics.integrity.audit import audit_question
from metrics.jobs import permanent_deletions
from metrics.jobs.question_updates import update_question
from metrics.models import PairTally
from projects.models import Deletion, GoldAnswer, Item, Project, Question, Rater
from projects.services import gold
from projects.services.projects import archive_project
from ratings.items import removal
from ratings.models import Assignment, Rating, Revision
from tests.ratings.imports.wizard_client import WizardClient, get_page_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def rated_question(project: Project, question: Any, rate: Any, lead: Any) -> Any:
    """Return a question with 6 items rated by 4 raters and counted; one of the ratings was changed.

    One more rating is uncounted.
    """
    labels = ("none", "minor", "major", "critical")
    for item in range(6):
        for number, rater in enumerate(("ann", "ben", "cleo", "dan")):
            rate(question, f"i{item}", rater, labels[(item + number * (item % 3)) % 4])
    rate(question, "i1", "ben", "critical")
    update_question(question.pk)
    rate(question, "i2", "eve", "minor")
    gold.set_gold_answer(
        item=Item.objects.get(key="i1"), question=question, answer=[1], by=lead, explanation="Why"
    )
    return question


def assert_counts_are_exact(question: Any) -> None:
    update_question(question.pk)
    call_command("audit")  # fails if a count differs
    assert not audit_question(question.pk).differences


def finish_deletions() -> None:
    for _turn in range(20):
        permanent_deletions.process_pending_deletions()
        if not removal.list_open_deletions().exists():
            return
    raise AssertionError("it does not come to an end")


def test_item_is_deleted_with_its_ratings_and_counts(
    rated_question: Any, client_for: Any, lead: Any
) -> None:
    item = Item.objects.get(key="i1")
    client, address = (
        client_for(lead),
        reverse("item_delete", args=[rated_question.project_id, item.pk]),
    )
    page = client.get(address).content.decode()
    assert "<strong>4</strong> current ratings" in page
    assert "<strong>5</strong> history entries" in page
    rejected = client.post(address, {"confirmation": "i2"})
    assert rejected.status_code == 400
    assert not Deletion.objects.exists()
    client.post(address, {"confirmation": "i1"})
    client.post(address, {"confirmation": "i1"})  # a double click
    deletion = Deletion.objects.get()
    assert deletion.counts["ratings"] == 4
    finish_deletions()
    assert not Item.objects.filter(pk=item.pk).exists()
    assert Rating.objects.current().count() == 21
    assert not GoldAnswer.objects.exists()
    assert Revision.objects.count() == 21
    deletion.refresh_from_db()
    assert deletion.finished_at is not None
    assert deletion.by == lead
    deletion_row = str(Deletion.objects.values().get())
    assert "i1" not in deletion_row
    assert_counts_are_exact(rated_question)
    settings_page = client.get(
        reverse("project_archive", args=[rated_question.project_id])
    ).content.decode()
    assert f"item {item.pk} · lead" in settings_page


def test_rater_is_deleted_with_all_pair_counts(
    rated_question: Any, client_for: Any, lead: Any
) -> None:
    rater = Rater.objects.get(key="ben")
    Assignment.objects.create(
        rater=rater, item=Item.objects.get(key="i5"), leased_until="2099-01-01T00:00Z"
    )
    address = reverse("rater_delete", args=[rated_question.project_id, rater.pk])
    client_for(lead).post(address, {"confirmation": "ben"})
    assert Rater.objects.get(key="ben").paused
    finish_deletions()
    assert not Rater.objects.filter(key="ben").exists()
    assert not PairTally.objects.filter(rater_a=rater.pk).exists()
    assert not Assignment.objects.exists()
    assert Rating.objects.count() == 19
    for item in Item.objects.all():
        assert item.slots_taken == item.ratings.current().count()
    assert_counts_are_exact(rated_question)


def test_project_is_deleted_completely_and_nothing_else(
    rated_question: Any, make_project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    other_question = make_project("Other").questions.get()
    rate(other_question, "i1", "ann", "minor")
    rate(other_question, "i1", "ben", "major")
    folder = Path(settings.DATA_DIR) / "media" / str(rated_question.project_id)
    folder.mkdir(parents=True)
    (folder / "picture.png").write_bytes(b"x")
    project_id = rated_question.project_id
    client = client_for(lead)
    response = client.post(
        reverse("project_delete", args=[project_id]), {"confirmation": "Reviews"}
    )
    assert response["Location"] == "/"
    finish_deletions()
    assert client.get(f"/projects/{project_id}/").status_code == 404
    assert list(Project.objects.values_list("name", flat=True)) == ["Other"]
    assert list(Question.objects.all()) == [other_question]
    assert Rating.objects.count() == Revision.objects.count() == 2
    assert not folder.exists()
    deletion = Deletion.objects.get()
    assert (deletion.kind, deletion.target, deletion.project) == ("project", project_id, None)
    assert (deletion.counts["ratings"], deletion.counts["items"]) == (25, 6)
    assert_counts_are_exact(other_question)
    for app in ("metrics", "ratings", "quality"):
        for model in apps.get_app_config(app).get_models():
            if any(field.attname == "question_id" for field in model._meta.concrete_fields):
                assert not model._default_manager.exclude(question_id=other_question.pk).exists(), (
                    model
                )


def test_another_worker_resumes_an_interrupted_deletion(
    rated_question: Any, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "RATINGS_PER_STEP", 2)
    rater = Rater.objects.get(key="ben")
    removal.start_deletion(kind="rater", target=rater, by=lead)
    turns = 0
    while not permanent_deletions.process_deletion(Deletion.objects.get(), seconds=0.0):
        turns += 1
        assert turns < 40
    assert turns > 3
    assert not Rater.objects.filter(key="ben").exists()
    assert_counts_are_exact(rated_question)


def test_rating_added_meanwhile_is_deleted_too(rated_question: Any, lead: Any, rate: Any) -> None:
    item = Item.objects.get(key="i3")
    deletion = removal.start_deletion(kind="item", target=item, by=lead)
    while removal.withdraw_next_ratings(deletion):
        pass
    rate(rated_question, "i3", "late", "minor")
    update_question(rated_question.pk)
    while removal.delete_next_batch(deletion):
        pass
    assert not removal.delete_target_row(deletion)
    assert Item.objects.filter(pk=item.pk).exists()
    finish_deletions()
    assert not Item.objects.filter(pk=item.pk).exists()
    assert_counts_are_exact(rated_question)


def test_nobody_rates_in_an_archived_project(
    project: Project, client_for: Any, api_for: Any, lead: Any, annotator: Any, question: Any
) -> None:
    Item.objects.create(project=project, key="a", body={"text": "x"})
    annotator_client, address = client_for(annotator), reverse("project_archive", args=[project.pk])
    annotator_client.get(f"/projects/{project.pk}/rate/")
    client_for(lead).post(address, {"do": "archive"})
    assert (
        "This project is archived"
        in annotator_client.get(f"/projects/{project.pk}/rate/").content.decode()
    )
    item = project.items.get()
    form_data = {f"question-{question.pk}": "1"}
    assert (
        annotator_client.post(f"/projects/{project.pk}/rate/{item.pk}/", form_data).status_code
        == 403
    )
    row = {"item": "a", "rater": "ann", "label": "minor"}
    base = f"/api/v1/projects/{project.pk}"
    api_response = api_for(lead).post(f"{base}/ratings/", row, format="json")
    assert (api_response.status_code, api_response.json()["error"]["code"]) == (403, "forbidden")
    annotator_api = api_for(annotator)
    answer_data = {"item": "a", "answers": {"severity": "minor"}}
    assert annotator_api.post(f"{base}/next/", answer_data, format="json").status_code == 403
    assert annotator_api.get(f"{base}/next/").json()["item"] is None
    assert not Rating.objects.exists()
    client_for(lead).post(address, {"do": "restore"})
    assert (
        annotator_client.post(f"/projects/{project.pk}/rate/{item.pk}/", form_data).status_code
        == 302
    )
    assert Rating.objects.get().code == 1


def test_project_list_shows_archived_projects_separately(
    project: Project, client_for: Any, lead: Any
) -> None:
    client = client_for(lead)
    client.post(reverse("project_archive", args=[project.pk]), {"do": "archive"})
    assert "?group=archived" in client.get("/").content.decode()
    assert project.name not in client.get("/").content.decode()
    assert project.name in client.get("/?group=archived").content.decode()


@pytest.mark.parametrize("role", ["annotator", "viewer", "stranger"])
def test_only_leads_delete_and_archive(
    project: Project, client_for: Any, request: Any, role: str
) -> None:
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    client = client_for(request.getfixturevalue(role))
    status = 404 if role == "stranger" else 403
    rater = project.raters.get()
    for name, args, confirmation in (
        ("project_delete", [], project.name),
        ("item_delete", [item.pk], "a"),
        ("rater_delete", [rater.pk], rater.key),
        ("project_archive", [], ""),
    ):
        address = reverse(name, args=[project.pk, *args])
        assert client.post(address, {"confirmation": confirmation}).status_code == status
    assert not Deletion.objects.exists()
    assert Project.objects.get(pk=project.pk).archived_at is None


def test_import_into_an_archived_project_fails_with_the_reason(
    project: Project, lead: Any, client_for: Any, question: Any
) -> None:
    wizard = WizardClient(client_for(lead), project)
    wizard.upload_and_validate(b"item,rater,label\na,ann,minor\nb,ann,major\n")
    archive_project(project=project, archived=True, by=lead)
    wizard.start_import()
    run = wizard.run_worker()
    assert run.state == "failed"
    assert "Archived projects accept no ratings." in get_page_text(wizard.get_page())
    assert not Rating.objects.exists()
    assert not Item.objects.exists()


def test_delete_page_uses_singular_and_plural(question: Any, client_for: Any, lead: Any) -> None:
    item = Item.objects.create(project=question.project, key="alone", body={"text": "x"})
    client = client_for(lead)
    page = client.get(reverse("item_delete", args=[question.project_id, item.pk])).text
    assert "<strong>1</strong> content version" in page
    assert "<strong>0</strong> gold answers" in page
    Item.objects.bulk_create(
        Item(project=question.project, key=f"i{number}", body={}) for number in range(1_200)
    )
    page = client.get(reverse("project_delete", args=[question.project_id])).text
    assert "<strong>1,201</strong> items" in page
    assert "<strong>1</strong> question<" in page

"""Deleting for good: nothing of it is left but a trace, and the counts are exact. Archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.urls import reverse

from metrics.integrity.audit import audit_question
from metrics.jobs import deletions
from metrics.jobs.question_updates import update_question
from metrics.models import PairTally
from projects.models import Deletion, GoldAnswer, Item, Project, Question, Rater
from projects.services.items import gold
from projects.services.projects import archive_project
from ratings.items import purge
from ratings.models import Assignment, Rating, Revision
from tests.ratings.imports.wizard_client import Wizard, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def rated(project: Project, question: Any, rate: Any, lead: Any) -> Any:
    """6 items by 4 raters, counted, then one rating more that is not; one was changed."""
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


def audited(question: Any) -> None:
    update_question(question.pk)
    call_command("audit")  # ends with an error where a count differs
    assert not audit_question(question.pk).differences


def finish() -> None:
    for _turn in range(20):
        deletions.process_deletions()
        if not purge.list_open_deletions().exists():
            return
    raise AssertionError("it does not come to an end")


def test_an_item_goes_with_its_ratings_and_its_place_in_the_counts(
    rated: Any, client_for: Any, lead: Any
) -> None:
    item = Item.objects.get(key="i1")
    client, address = client_for(lead), reverse("item_delete", args=[rated.project_id, item.pk])
    page = client.get(address).content.decode()
    assert "<strong>4</strong> ratings that stand" in page
    assert "<strong>5</strong> lines of their history" in page
    wrong = client.post(address, {"typed": "i2"})
    assert wrong.status_code == 400
    assert not Deletion.objects.exists()
    client.post(address, {"typed": "i1"})
    client.post(address, {"typed": "i1"})  # a double click
    trace = Deletion.objects.get()
    assert trace.counts["ratings"] == 4
    finish()
    assert not Item.objects.filter(pk=item.pk).exists()
    assert Rating.objects.current().count() == 21
    assert not GoldAnswer.objects.exists()
    assert Revision.objects.count() == 21
    trace.refresh_from_db()
    assert trace.finished_at is not None
    assert trace.by == lead
    kept = str(Deletion.objects.values().get())
    assert "i1" not in kept
    audited(rated)
    setup = client.get(reverse("setup", args=[rated.project_id])).content.decode()
    assert f"item {item.pk} · lead" in setup


def test_a_rater_goes_and_no_pair_knows_them(rated: Any, client_for: Any, lead: Any) -> None:
    rater = Rater.objects.get(key="ben")
    Assignment.objects.create(
        rater=rater, item=Item.objects.get(key="i5"), leased_until="2099-01-01T00:00Z"
    )
    address = reverse("rater_delete", args=[rated.project_id, rater.pk])
    client_for(lead).post(address, {"typed": "ben"})
    assert Rater.objects.get(key="ben").paused
    finish()
    assert not Rater.objects.filter(key="ben").exists()
    assert not PairTally.objects.filter(rater_a=rater.pk).exists()
    assert not Assignment.objects.exists()
    assert Rating.objects.count() == 19
    for item in Item.objects.all():
        assert item.places_taken == item.ratings.current().count()
    audited(rated)


def test_a_project_goes_whole_and_nothing_else(
    rated: Any, make_project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    other = make_project("Other").questions.get()
    rate(other, "i1", "ann", "minor")
    rate(other, "i1", "ben", "major")
    folder = Path(settings.DATA_DIR) / "media" / str(rated.project_id)
    folder.mkdir(parents=True)
    (folder / "picture.png").write_bytes(b"x")
    project_id = rated.project_id
    client = client_for(lead)
    answer = client.post(reverse("project_delete", args=[project_id]), {"typed": "Reviews"})
    assert answer["Location"] == "/"
    finish()
    assert client.get(f"/projects/{project_id}/").status_code == 404
    assert list(Project.objects.values_list("name", flat=True)) == ["Other"]
    assert list(Question.objects.all()) == [other]
    assert Rating.objects.count() == Revision.objects.count() == 2
    assert not folder.exists()
    trace = Deletion.objects.get()
    assert (trace.kind, trace.target, trace.project) == ("project", project_id, None)
    assert (trace.counts["ratings"], trace.counts["items"]) == (25, 6)
    audited(other)
    for app in ("metrics", "ratings", "quality"):
        for model in apps.get_app_config(app).get_models():
            if any(field.attname == "question_id" for field in model._meta.concrete_fields):
                assert not model._default_manager.exclude(question_id=other.pk).exists(), model


def test_a_worker_that_dies_between_two_steps_is_followed_by_another(
    rated: Any, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "RATINGS_PER_STEP", 2)
    rater = Rater.objects.get(key="ben")
    purge.start_deletion(kind="rater", target=rater, by=lead)
    turns = 0
    while not deletions.process_deletion(Deletion.objects.get(), seconds=0.0):
        turns += 1
        assert turns < 40
    assert turns > 3
    assert not Rater.objects.filter(key="ben").exists()
    audited(rated)


def test_what_is_rated_meanwhile_is_withdrawn_too(rated: Any, lead: Any, rate: Any) -> None:
    item = Item.objects.get(key="i3")
    deletion = purge.start_deletion(kind="item", target=item, by=lead)
    while purge.withdraw_next_ratings(deletion):
        pass
    rate(rated, "i3", "late", "minor")
    update_question(rated.pk)
    while purge.remove_next_rows(deletion):
        pass
    assert not purge.finish_deletion(deletion)
    assert Item.objects.filter(pk=item.pk).exists()
    finish()
    assert not Item.objects.filter(pk=item.pk).exists()
    audited(rated)


def test_nobody_rates_in_an_archived_project(
    project: Project, client_for: Any, api_for: Any, lead: Any, annotator: Any, question: Any
) -> None:
    Item.objects.create(project=project, key="a", body={"text": "x"})
    desk, address = client_for(annotator), reverse("project_archive", args=[project.pk])
    desk.get(f"/projects/{project.pk}/rate/")
    client_for(lead).post(address, {"do": "archive"})
    assert "This project rests" in desk.get(f"/projects/{project.pk}/rate/").content.decode()
    item = project.items.get()
    answer = {f"question-{question.pk}": "1"}
    assert desk.post(f"/projects/{project.pk}/rate/{item.pk}/", answer).status_code == 403
    row = {"item": "a", "rater": "ann", "label": "minor"}
    base = f"/api/v1/projects/{project.pk}"
    refused = api_for(lead).post(f"{base}/ratings/", row, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    mine = api_for(annotator)
    said = {"item": "a", "answers": {"severity": "minor"}}
    assert mine.post(f"{base}/next/", said, format="json").status_code == 403
    assert mine.get(f"{base}/next/").json()["item"] is None
    assert not Rating.objects.exists()
    client_for(lead).post(address, {"do": "restore"})
    assert desk.post(f"/projects/{project.pk}/rate/{item.pk}/", answer).status_code == 302
    assert Rating.objects.get().code == 1


def test_the_list_shows_archived_projects_apart(
    project: Project, client_for: Any, lead: Any
) -> None:
    client = client_for(lead)
    client.post(reverse("project_archive", args=[project.pk]), {"do": "archive"})
    assert "?group=archived" in client.get("/").content.decode()
    assert project.name not in client.get("/").content.decode()
    assert project.name in client.get("/?archive=1").content.decode()


@pytest.mark.parametrize("who", ["annotator", "viewer", "stranger"])
def test_only_leads_delete_and_archive(
    project: Project, client_for: Any, request: Any, who: str
) -> None:
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    client = client_for(request.getfixturevalue(who))
    status = 404 if who == "stranger" else 403
    rater = project.raters.get()
    for name, args, typed in (
        ("project_delete", [], project.name),
        ("item_delete", [item.pk], "a"),
        ("rater_delete", [rater.pk], rater.key),
        ("project_archive", [], ""),
    ):
        address = reverse(name, args=[project.pk, *args])
        assert client.post(address, {"typed": typed}).status_code == status
    assert not Deletion.objects.exists()
    assert Project.objects.get(pk=project.pk).archived_at is None


def test_a_file_into_an_archived_project_is_stopped_with_the_reason(
    project: Project, lead: Any, client_for: Any, question: Any
) -> None:
    wizard = Wizard(client_for(lead), project)
    wizard.check(b"item,rater,label\na,ann,minor\nb,ann,major\n")
    archive_project(project=project, archived=True, by=lead)
    wizard.start()
    run = wizard.work()
    assert run.state == "failed"
    assert "The project 'Reviews' is archived: nobody rates in it." in words(wizard.page())
    assert not Rating.objects.exists()
    assert not Item.objects.exists()


def test_how_much_goes_is_told_in_the_number_that_it_has(
    question: Any, client_for: Any, lead: Any
) -> None:
    item = Item.objects.create(project=question.project, key="alone", body={"text": "x"})
    client = client_for(lead)
    page = client.get(reverse("item_delete", args=[question.project_id, item.pk])).text
    assert "<strong>1</strong> version of its content" in page
    assert "<strong>0</strong> gold answers" in page
    Item.objects.bulk_create(
        Item(project=question.project, key=f"i{number}", body={}) for number in range(1_200)
    )
    page = client.get(reverse("project_delete", args=[question.project_id])).text
    assert "<strong>1,201</strong> items" in page
    assert "<strong>1</strong> question<" in page

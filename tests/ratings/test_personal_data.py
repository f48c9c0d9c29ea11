"""Personal data of a rater is exported, pseudonymized or erased; several items are deleted at once."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from events.models import Event
from metrics.integrity.audit import audit_question
from metrics.jobs import permanent_deletions
from metrics.jobs.question_updates import update_question
from metrics.models import RaterResult
from projects.models import Deletion, Item, Member, Project, Rater
from ratings.items import removal
from ratings.models import (
    CheckAnswer,
    ImportRun,
    LabelStudioConnection,
    LabelStudioObject,
    RaterMessage,
    Rating,
    Revision,
)
from ratings.services.judgement import Judgement
from ratings.services.own_answers import record_check_answers

pytestmark = pytest.mark.django_db


@pytest.fixture
def rated_question(project: Project, question: Any, rate: Any) -> Any:
    for item in range(4):
        for rater in ("ann", "ben"):
            rate(question, f"i{item}", rater, "none", comment=f"said by {rater}")
            check_answer = Judgement(
                Item.objects.get(key=f"i{item}").pk,
                Rater.objects.get(key=rater).pk,
                1,
                comment=f"said by {rater}",
            )
            record_check_answers({question: [check_answer]}, kind="repeat", by=None, source="form")
    rate(question, "i0", "ann", "major")
    update_question(question.pk)
    for data in ({"rater": "ann"}, {"rater": "ben", "other_rater": "ann"}):
        Event.objects.create(
            project=project, kind="alert.opened", data=data, at="2026-01-01T00:00Z"
        )
    for rater_row in Rater.objects.filter(project=project):
        RaterMessage.objects.create(
            rater=rater_row, text=f"said by {rater_row.key}?", sent_at="2026-01-01T00:00Z"
        )
    ImportRun.objects.create(
        project=project,
        state=ImportRun.State.DONE,
        summary={"preview": [[1, "i0", "ann", "none", "", ""]], "rows": 8},
        mapping={"members": {"ann@example.org": Rater.objects.get(key="ann").user_id}},
    )
    connection = LabelStudioConnection.objects.create(
        project=project,
        remote_project=1,
        mapping={"members": {"ann": Rater.objects.get(key="ann").user_id}},
        next_at="2026-01-01T00:00Z",
        created_at="2026-01-01T00:00Z",
    )
    LabelStudioObject.objects.create(
        connection=connection, kind="user", remote_id=7, rater=Rater.objects.get(key="ann")
    )
    return question


def finish_deletions() -> None:
    for _turn in range(20):
        permanent_deletions.process_pending_deletions()
    assert not removal.list_open_deletions().exists()


def dump_rater_rows() -> str:
    """Return all rows that could name a rater, as a text."""
    models: list[Any] = [
        Rater,
        RaterMessage,
        Rating,
        Revision,
        CheckAnswer,
        Event,
        Deletion,
        ImportRun,
        LabelStudioConnection,
    ]
    return str([list(model.objects.values()) for model in models])


def test_person_is_removed_and_ratings_are_kept(
    rated_question: Any, project: Project, client_for: Any, lead: Any, annotator: User
) -> None:
    rater = Rater.objects.get(key="ann")
    before = RaterResult.objects.get(rater=rater).coefficients
    client, address = client_for(lead), reverse("rater_delete", args=[project.pk, rater.pk])
    rejected = client.post(address, {"how": "pseudonym", "confirmation": "ben"})
    assert rejected.status_code == 400
    assert Rater.objects.get(pk=rater.pk).key == "ann"
    client.post(address, {"how": "pseudonym", "confirmation": "ann"})
    rater.refresh_from_db()
    assert rater.key.startswith("former-")
    assert (rater.name, rater.user, rater.paused) == ("", None, True)
    assert Rating.objects.filter(rater=rater).count() == 4
    rows = dump_rater_rows()
    assert "'ann'" not in rows
    assert "said by ann" not in rows
    assert "said by ben" in rows
    # What they annotate there from then on is ignored.
    assert LabelStudioObject.objects.get(kind="user").rater is None
    update_question(rated_question.pk)
    assert not audit_question(rated_question.pk).differences
    assert RaterResult.objects.get(rater=rater).coefficients == before
    deletion = Deletion.objects.get()
    assert (deletion.kind, deletion.by, deletion.counts["ratings"]) == ("person", lead, 4)
    assert "person behind rater" in client.get(f"/projects/{project.pk}/archive/").content.decode()


def test_comments_can_be_kept(
    rated_question: Any, project: Project, client_for: Any, lead: Any
) -> None:
    rater = Rater.objects.get(key="ann")
    address = reverse("rater_delete", args=[project.pk, rater.pk])
    client_for(lead).post(address, {"how": "pseudonym", "confirmation": "ann", "comments": "on"})
    assert "said by ann" in dump_rater_rows()
    assert "said by ann?" not in dump_rater_rows()  # a message from a lead


def test_erasing_leaves_no_name_behind(
    rated_question: Any, project: Project, client_for: Any, lead: Any
) -> None:
    rater = Rater.objects.get(key="ann")
    address = reverse("rater_delete", args=[project.pk, rater.pk])
    client_for(lead).post(address, {"how": "delete", "confirmation": "ann"})
    finish_deletions()
    rows = dump_rater_rows()
    assert "'ann'" not in rows
    assert "said by ann" not in rows
    update_question(rated_question.pk)
    assert not audit_question(rated_question.pk).differences


def test_personal_data_is_only_for_leads(
    rated_question: Any, project: Project, client_for: Any, lead: Any, viewer: Any
) -> None:
    address = reverse("rater_data", args=[project.pk, Rater.objects.get(key="ann").pk])
    response: Any = client_for(lead).get(address)
    lines = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
    assert (lines[0]["rater"], lines[0]["account"]) == ("ann", "annotator")
    assert lines.pop()["message"] == "said by ann?"
    assert lines.pop() == {"label_studio": "/projects/1", "user": 7}
    assert [line["item"] for line in lines[1:]] == ["i0", "i1", "i2", "i3"] * 2
    assert (lines[5]["check"], lines[5]["label"]) == ("repeat", "minor")
    assert [revision["label"] for revision in lines[1]["history"]] == ["none", "major"]
    assert "ben" not in str(lines)
    assert client_for(viewer).get(address).status_code == 403


def test_several_items_are_deleted_at_once(
    rated_question: Any, project: Project, client_for: Any, lead: Any
) -> None:
    client = client_for(lead)
    ids = list(Item.objects.filter(key__in=("i1", "i2")).values_list("pk", flat=True))
    response = client.post(
        f"/projects/{project.pk}/selected-items/", {"item": ids, "action": "delete"}
    )
    confirmation_page = client.get(response["Location"]).content.decode()
    assert "deletes 2 items" in confirmation_page
    assert "<strong>4</strong> current ratings" in confirmation_page
    address = reverse("items_delete", args=[project.pk])
    assert client.post(address, {"item": ids, "confirmation": "3"}).status_code == 400
    assert not Deletion.objects.exists()
    assert client.post(address, {"item": ids, "confirmation": "2"}).status_code == 302
    finish_deletions()
    assert set(Item.objects.values_list("key", flat=True)) == {"i0", "i3"}
    assert Deletion.objects.filter(kind="item", finished_at__isnull=False).count() == 2
    update_question(rated_question.pk)
    assert not audit_question(rated_question.pk).differences
    assert client.get(address).status_code == 302  # no item is selected


@pytest.mark.parametrize("role", ["viewer", "annotator"])
def test_only_leads_delete_several_items(
    rated_question: Any, project: Project, client_for: Any, request: Any, role: str
) -> None:
    client = client_for(request.getfixturevalue(role))
    item = Item.objects.first()
    data = {"item": [item and item.pk], "confirmation": "1"}
    assert client.post(reverse("items_delete", args=[project.pk]), data).status_code == 403
    assert not Deletion.objects.exists()


# --- the management command, for all projects


def test_account_is_exported_and_pseudonymized(
    rated_question: Any, project: Project, annotator: User, tmp_path: Path
) -> None:
    file = tmp_path / "person.jsonl"
    call_command("person_data", "annotator", export=str(file))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (lines[0]["account"], lines[0]["roles"]) == ("annotator", {str(project.pk): "annotator"})
    assert len([line for line in lines if "history" in line]) == 4
    with pytest.raises(CommandError, match="--confirm annotator"):
        call_command("person_data", "annotator", forget="person")
    out = io.StringIO()
    call_command("person_data", "annotator", forget="person", confirm="annotator", stdout=out)
    report = json.loads(out.getvalue())
    assert report["raters"][0]["ratings"] == 4
    assert Rater.objects.filter(key=report["raters"][0]["pseudonym"]).exists()
    assert not User.objects.filter(username="annotator").exists()
    assert Rating.objects.current().count() == 8


def test_everything_of_an_account_is_erased(rated_question: Any, annotator: User) -> None:
    out = io.StringIO()
    call_command("person_data", "annotator", forget="everything", confirm="annotator", stdout=out)
    finish_deletions()
    assert Rating.objects.count() == 4
    assert "'ann'" not in dump_rater_rows()


def test_only_lead_of_a_project_cannot_be_erased(
    rated_question: Any, project: Project, lead: User
) -> None:
    with pytest.raises(CommandError, match=f"They lead projects {project.pk} alone"):
        call_command("person_data", "lead", forget="everything", confirm="lead")
    assert Member.objects.filter(user=lead).exists()
    with pytest.raises(CommandError, match="There is no account"):
        call_command("person_data", "nobody", export="-")

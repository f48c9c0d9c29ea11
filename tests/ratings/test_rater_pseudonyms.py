"""Rater pseudonyms: the identities of raters can be hidden from leads and shown again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from agreement_site.models import AuditLogEntry
from events.models import Event
from events.services import record_event
from metrics.models import SavedView
from projects.models import Member, Project, Rater, RaterIdentity
from projects.services import membership
from ratings import personal_data, rater_pseudonyms
from ratings.annotation.submission import get_or_create_rater
from ratings.models import Rating
from tests.ratings.imports.wizard_client import WizardClient

pytestmark = pytest.mark.django_db

RATER_KEYS = ("ann", "ben", "cleo", "dora")


@pytest.fixture
def rated_question(project: Project, question: Any, rate: Any) -> Any:
    for key in RATER_KEYS:
        rate(question, "i1", key, "none")
        Rater.objects.filter(project=project, key=key).update(name=f"{key.title()} Person")
    rate(question, "i1", "gpt", "none")
    Rater.objects.filter(project=project, key="gpt").update(kind="model", name="The model")
    with transaction.atomic():
        data = {"rater": "ann", "other_rater": "ben", "of": "ann"}
        record_event(project_id=project.pk, kind="alert.opened", data=data)
    return question


def set_hidden(client: Any, project: Project, *, hidden: bool = True) -> Any:
    address = f"/projects/{project.pk}/people/pseudonyms/set/"
    return client.post(address, {"hidden": "1" if hidden else "0", "confirm": "on"})


def list_raters(project: Project) -> list[tuple[Any, ...]]:
    raters_in_order = Rater.objects.filter(project=project).order_by("pk")
    return list(raters_in_order.values_list("pk", "key", "name", "user", "kind", "paused"))


def get_pseudonym(project: Project, key: str) -> str:
    return str(RaterIdentity.objects.get(project=project, key=key).rater.key)


def test_hiding_and_showing_again_restores_everything(
    rated_question: Any, project: Project, client_for: Any, lead: User
) -> None:
    client = client_for(lead)
    view = SavedView.objects.create(
        project=project,
        page="items",
        name="Ann's",
        query="question=severity&rater=ann",
        created_by=lead,
    )
    rows_before, event = list_raters(project), Event.objects.get().data
    assert set_hidden(client, project).status_code == 302
    hidden_rows = {row[0]: row for row in list_raters(project)}
    for pk, key, name, user, kind, paused in rows_before:
        if kind == "model":
            assert hidden_rows[pk] == (pk, key, name, user, kind, paused)
        else:
            assert hidden_rows[pk] == (pk, get_pseudonym(project, key), "", user, kind, paused)
    keys = {row[1] for row in hidden_rows.values() if row[4] == "human"}
    assert keys == {f"rater-{number:02}" for number in range(1, len(keys) + 1)}
    ann, ben = get_pseudonym(project, "ann"), get_pseudonym(project, "ben")
    assert Event.objects.get().data == {"rater": ann, "other_rater": ben, "of": "ann"}
    view.refresh_from_db()
    assert view.query == f"question=severity&rater={ann}"
    set_hidden(client, project, hidden=False)
    view.refresh_from_db()
    assert list_raters(project) == rows_before
    assert (Event.objects.get().data, view.query) == (event, "question=severity&rater=ann")
    assert not RaterIdentity.objects.exists()


def test_pseudonym_is_no_existing_key(project: Project, lead: User) -> None:
    Rater.objects.bulk_create(
        Rater(project=project, key=key, kind=kind)
        for key, kind in (("rater-01", "human"), ("rater-2", "human"), ("rater-003", "model"))
    )
    rater_pseudonyms.hide_raters(project=project, by=lead)
    assert not set(RaterIdentity.objects.values_list("rater__key", flat=True)) & {
        "rater-01", "rater-02", "rater-03", "rater-2", "rater-003",
    }  # fmt: skip


def test_order_of_pseudonyms_reveals_nothing(project: Project, lead: User) -> None:
    Rater.objects.bulk_create(Rater(project=project, key=f"p{n:03}") for n in range(60))
    rater_pseudonyms.hide_raters(project=project, by=lead)
    identities = RaterIdentity.objects.filter(key__startswith="p").order_by("key")
    pseudonyms = list(identities.values_list("rater__key", flat=True))
    assert pseudonyms != sorted(pseudonyms)


PATHS = ("people/", "raters/", "raters.csv", "data/export.csv", "labels.csv", "audit-log/",
          "audit-log.csv", "?question=severity", "items/", "alerts/")  # fmt: skip


def test_no_page_or_file_names_a_person(
    rated_question: Any,
    project: Project,
    client_for: Any,
    api_for: Any,
    lead: User,
    make_alert: Any,
) -> None:
    ben = Rater.objects.get(project=project, key="ben")
    alert = make_alert(rated_question, ben)
    client = client_for(lead)
    data = {"name": "Benjamin", "kind": "human", "group": "", "user": lead.pk}
    assert client.post(f"/projects/{project.pk}/people/raters/{ben.pk}/", data).status_code == 302
    set_hidden(client, project)
    for page_path in PATHS:
        response = client.get(f"/projects/{project.pk}/{page_path}", follow=True)
        assert response.status_code == 200, page_path
        text = response.getvalue().decode()
        for word in (" Person", "Benjamin", '"ben"', ">ben<", ",ben,", "cleo"):
            assert word not in text, (page_path, word)
    assert get_pseudonym(project, "ben") in client.get(f"/projects/{project.pk}/people/").text
    alert_page = client.get(f"/projects/{project.pk}/alerts/{alert.pk}/").text
    assert get_pseudonym(project, "ben") in alert_page
    assert "Person" not in alert_page
    exported = client.get(f"/projects/{project.pk}/data/export.csv").getvalue().decode()
    assert all(get_pseudonym(project, key) in exported for key in RATER_KEYS)
    api = api_for(lead)
    for path in ("raters/", "ratings/", "audit-log/"):
        text = json.dumps(api.get(f"/api/v1/projects/{project.pk}/{path}").json()["results"])
        for word in ("Person", "Benjamin", '"ben"', '"cleo"'):
            assert word not in text, (path, word)
    rater_rows = api.get(f"/api/v1/projects/{project.pk}/raters/").json()["results"]
    assert {row["username"] for row in rater_rows} == {None}
    # Administrators read the unmodified audit log.
    admin = User.objects.create_superuser("root")
    assert "Benjamin" in client_for(admin).get(f"/projects/{project.pk}/audit-log/").text


def test_new_rater_is_hidden_immediately(
    rated_question: Any, project: Project, api_for: Any, lead: User, admin: User, make_user: Any
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    project.refresh_from_db()
    eva, finn = make_user("eva"), make_user("finn")
    membership.add_member(project=project, username="eva", role=Member.Role.ANNOTATOR, by=admin)
    Member.objects.create(project=project, user=finn, role=Member.Role.LEAD)
    assert get_or_create_rater(project, finn).key.startswith("rater-")
    api = api_for(lead)
    row = {"key": "gus", "name": "Gus Person"}
    path = f"/api/v1/projects/{project.pk}/raters/"
    for counts in ({"created": 1}, {"unchanged": 1}):
        counts_in_response = api.post(path, row, format="json").json()
        assert {name: n for name, n in counts_in_response.items() if n} == counts
    for key, user in (("eva", eva), ("finn", finn), ("gus", None)):
        rater = RaterIdentity.objects.get(project=project, key=key).rater
        assert (rater.key.startswith("rater-"), rater.name, rater.user) == (True, "", user)
    renamed = {"key": get_pseudonym(project, "gus"), "name": "Augustus"}
    assert api.post(path, renamed, format="json").json()["changed"] == 1
    duplicate_rows = [{"key": "gus"}, {"key": get_pseudonym(project, "gus")}]
    assert api.post(path, duplicate_rows, format="json").status_code == 400
    # The rater of an account cannot be found by guessing.
    response = api.post(path, {"key": "other", "username": "eva"}, format="json")
    assert response.status_code == 400
    assert "rater-" not in response.content.decode()
    rater_pseudonyms.restore_raters(project=project, by=lead)
    assert Rater.objects.get(project=project, key="gus").name == "Augustus"
    assert {"eva", "finn"} <= set(Rater.objects.values_list("key", flat=True))


def test_ratings_are_accepted_under_either_key(
    rated_question: Any, project: Project, api_for: Any, lead: User, annotator: User
) -> None:
    ann = Rater.objects.get(project=project, key="ann")
    assert ann.user == annotator
    rater_pseudonyms.hide_raters(project=project, by=lead)
    path = f"/api/v1/projects/{project.pk}/ratings/"

    def send(user: User, rater: str, label: str) -> Any:
        return api_for(user).post(
            path, {"item": "i1", "rater": rater, "label": label}, format="json"
        )

    for user in (lead, annotator):
        for key, label in (("ann", "major"), (get_pseudonym(project, "ann"), "minor")):
            assert send(user, key, label).status_code in (200, 201)
            rating = Rating.objects.get(rater=ann)
            assert rating.question.categories.get(code=rating.code).label == label
    assert send(annotator, "ben", "minor").status_code == 403
    assert send(lead, "nobody", "minor").status_code == 400
    duplicate_rows = [
        {"item": "i1", "rater": key, "label": "none"}
        for key in ("ann", get_pseudonym(project, "ann"))
    ]
    response = api_for(lead).post(path, duplicate_rows, format="json")
    assert response.status_code == 400
    assert "stand in row 0 already" in response.content.decode()
    rows = api_for(annotator).get(path).json()["results"]
    assert {row["rater"] for row in rows} == {get_pseudonym(project, "ann")}
    # Reading does not accept true keys: that would reveal the identities.
    assert api_for(lead).get(path, {"rater": "ann"}).json()["results"] == []


def test_disclosing_identities_is_for_leads_and_logged(
    rated_question: Any, project: Project, client_for: Any, lead: User, annotator: User, viewer: User,
    make_user: Any, make_project: Any,
) -> None:  # fmt: skip
    rater_pseudonyms.hide_raters(project=project, by=lead)
    address = f"/projects/{project.pk}/people/pseudonyms/disclose/"
    other_lead = make_user("other")
    other_project = make_project()
    Member.objects.create(project=other_project, user=other_lead, role=Member.Role.LEAD)
    for user, status in ((annotator, 403), (viewer, 403), (other_lead, 404)):
        assert client_for(user).post(address, {"reason": "curious"}).status_code == status
    assert client_for(lead).post(address, {"reason": "  "}).status_code == 400
    assert not AuditLogEntry.objects.filter(action="rater_identities_viewed").exists()
    page = client_for(lead).post(address, {"reason": "a complaint"})
    assert all(word in page.text for word in ("Ben Person", "cleo", annotator.username))
    audit_entry = AuditLogEntry.objects.get(action="rater_identities_viewed")
    assert (audit_entry.actor, audit_entry.project_id) == ("lead", project.pk)
    assert audit_entry.details["reason"] == "a complaint"
    second_page = client_for(lead).get(f"/projects/{project.pk}/people/pseudonyms/")
    assert "Ben Person" not in second_page.text
    assert "a complaint" in client_for(lead).get(f"/projects/{project.pk}/audit-log/").text


def test_hiding_needs_confirmation(
    rated_question: Any, project: Project, client_for: Any, lead: User
) -> None:
    address = f"/projects/{project.pk}/people/pseudonyms/set/"
    assert client_for(lead).post(address, {"hidden": "1"}).status_code == 400
    project.refresh_from_db()
    assert not project.hides_raters
    set_hidden(client_for(lead), project)
    set_hidden(client_for(lead), project)  # a second time changes nothing
    assert AuditLogEntry.objects.filter(action="raters_hidden").count() == 1
    set_hidden(client_for(lead), project, hidden=False)
    assert AuditLogEntry.objects.filter(action="raters_unhidden").count() == 1


def test_personal_data_contains_the_identity(
    rated_question: Any, project: Project, client_for: Any, lead: User
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    ben = RaterIdentity.objects.get(project=project, key="ben").rater
    first_line = json.loads(next(personal_data.iter_personal_data(ben)))
    assert (first_line["rater"], first_line["name"]) == ("ben", "Ben Person")
    page = client_for(lead).get(f"/projects/{project.pk}/people/raters/{ben.pk}/data.jsonl")
    assert json.loads(page.getvalue().splitlines()[0])["rater"] == ben.key
    pseudonymized = personal_data.pseudonymize_rater(rater=ben, by=lead, comments=False)
    assert pseudonymized.key == ben.key
    rater_pseudonyms.restore_raters(project=project, by=lead)
    pseudonymized.refresh_from_db()
    assert pseudonymized.key.startswith("former-")
    assert pseudonymized.name == ""


def test_change_of_a_hidden_rater_keeps_the_identity(
    rated_question: Any, project: Project, client_for: Any, lead: User, annotator: User
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    ann = Rater.objects.get(project=project, user=annotator)
    address = f"/projects/{project.pk}/people/raters/{ann.pk}/"
    page = client_for(lead).get(address)
    assert "Ann Person" not in page.text
    assert set(page.context["form"].fields) == {"kind", "model", "prompt_version", "group"}
    data = {"kind": "human", "group": "north", "name": "Somebody", "user": lead.pk}
    assert client_for(lead).post(address, data).status_code == 302
    ann.refresh_from_db()
    assert (ann.name, ann.user, ann.group) == ("", annotator, "north")
    gpt = Rater.objects.get(project=project, key="gpt")
    data = {"kind": "human", "group": "", "name": "G. P. Turner", "user": ""}
    client_for(lead).post(f"/projects/{project.pk}/people/raters/{gpt.pk}/", data)
    gpt.refresh_from_db()
    assert gpt.key.startswith("rater-")
    assert gpt.identity.name == "G. P. Turner"


def test_import_accepts_either_key_and_hides_new_raters(
    rated_question: Any, project: Project, client_for: Any, lead: User
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    project.refresh_from_db()
    ann = Rater.objects.get(project=project, key=get_pseudonym(project, "ann"))
    ben = Rater.objects.get(project=project, key=get_pseudonym(project, "ben"))
    n_raters = Rater.objects.filter(project=project).count()
    file = f"item,rater,label\ni1,ann,major\ni1,{ben.key},minor\ni1,newcomer,minor\n"
    run = WizardClient(client_for(lead), project).import_file(file.encode())
    assert run.state == "done", run.problems
    for rater, label in ((ann, "major"), (ben, "minor")):
        rating = Rating.objects.get(rater=rater)
        assert rating.question.categories.get(code=rating.code).label == label
    assert Rater.objects.filter(project=project).count() == n_raters + 1
    assert get_pseudonym(project, "newcomer").startswith("rater-")

"""Who the raters are can be hidden from those who lead the project, and be shown again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from agreement_site.models import TrailLine
from events.models import Event
from events.services import record_event
from metrics.models import NamedView
from projects.models import Member, Project, Rater, RaterIdentity
from projects.services.members import membership
from ratings.annotation.submission import get_or_create_rater
from ratings.items import personal_data, rater_pseudonyms
from ratings.models import Rating
from tests.ratings.imports.wizard_client import Wizard

pytestmark = pytest.mark.django_db

PEOPLE = ("ann", "ben", "cleo", "dora")


@pytest.fixture
def rated(project: Project, question: Any, rate: Any) -> Any:
    for key in PEOPLE:
        rate(question, "i1", key, "none")
        Rater.objects.filter(project=project, key=key).update(name=f"{key.title()} Person")
    rate(question, "i1", "gpt", "none")
    Rater.objects.filter(project=project, key="gpt").update(kind="model", name="The model")
    with transaction.atomic():
        data = {"rater": "ann", "other_rater": "ben", "of": "ann"}
        record_event(project_id=project.pk, kind="alarm_raised", data=data)
    return question


def hide(client: Any, project: Project, *, on: bool = True) -> Any:
    address = f"/projects/{project.pk}/people/identities/hide/"
    return client.post(address, {"hidden": "1" if on else "0", "sure": "on"})


def raters(project: Project) -> list[tuple[Any, ...]]:
    known = Rater.objects.filter(project=project).order_by("pk")
    return list(known.values_list("pk", "key", "name", "user", "kind", "paused"))


def pseudonym(project: Project, key: str) -> str:
    return str(RaterIdentity.objects.get(project=project, key=key).rater.key)


def test_on_and_off_leaves_everything_as_it_was(
    rated: Any, project: Project, client_for: Any, lead: User
) -> None:
    client = client_for(lead)
    view = NamedView.objects.create(
        project=project, page="items", name="Ann's", query="question=severity&rater=ann", by=lead
    )
    before, event = raters(project), Event.objects.get().data
    assert hide(client, project).status_code == 302
    shown = {row[0]: row for row in raters(project)}
    for pk, key, name, user, kind, paused in before:
        if kind == "model":
            assert shown[pk] == (pk, key, name, user, kind, paused)
        else:
            assert shown[pk] == (pk, pseudonym(project, key), "", user, kind, paused)
    keys = {row[1] for row in shown.values() if row[4] == "human"}
    assert keys == {f"rater-{number:02}" for number in range(1, len(keys) + 1)}
    ann, ben = pseudonym(project, "ann"), pseudonym(project, "ben")
    assert Event.objects.get().data == {"rater": ann, "other_rater": ben, "of": "ann"}
    view.refresh_from_db()
    assert view.query == f"question=severity&rater={ann}"
    hide(client, project, on=False)
    view.refresh_from_db()
    assert raters(project) == before
    assert (Event.objects.get().data, view.query) == (event, "question=severity&rater=ann")
    assert not RaterIdentity.objects.exists()


def test_a_pseudonym_is_nobodys_key(project: Project, lead: User) -> None:
    Rater.objects.bulk_create(
        Rater(project=project, key=key, kind=kind)
        for key, kind in (("rater-01", "human"), ("rater-2", "human"), ("rater-003", "model"))
    )
    rater_pseudonyms.hide_raters(project=project, by=lead)
    assert not set(RaterIdentity.objects.values_list("rater__key", flat=True)) & {
        "rater-01", "rater-02", "rater-03", "rater-2", "rater-003",
    }  # fmt: skip


def test_the_order_tells_nothing(project: Project, lead: User) -> None:
    Rater.objects.bulk_create(Rater(project=project, key=f"p{n:03}") for n in range(60))
    rater_pseudonyms.hide_raters(project=project, by=lead)
    found = RaterIdentity.objects.filter(key__startswith="p").order_by("key")
    given = list(found.values_list("rater__key", flat=True))
    assert given != sorted(given)


PLACES = ("people/", "raters/", "raters.csv", "data/export.csv", "labels.csv", "trail/",
          "trail.csv", "?question=severity", "items/", "alarms/")  # fmt: skip


def test_no_page_and_no_file_names_a_person(
    rated: Any, project: Project, client_for: Any, api_for: Any, lead: User, make_alarm: Any
) -> None:
    ben = Rater.objects.get(project=project, key="ben")
    case = make_alarm(rated, ben)
    client = client_for(lead)
    changed = {"name": "Benjamin", "kind": "human", "group": "", "user": lead.pk}
    assert (
        client.post(f"/projects/{project.pk}/people/raters/{ben.pk}/", changed).status_code == 302
    )
    hide(client, project)
    for place in PLACES:
        answer = client.get(f"/projects/{project.pk}/{place}", follow=True)
        assert answer.status_code == 200, place
        said = answer.getvalue().decode()
        for word in ("Person", "Benjamin", '"ben"', ">ben<", ",ben,", "cleo"):
            assert word not in said, (place, word)
    assert pseudonym(project, "ben") in client.get(f"/projects/{project.pk}/people/").text
    told = client.get(f"/projects/{project.pk}/alarms/{case.pk}/").text
    assert pseudonym(project, "ben") in told
    assert "Person" not in told
    exported = client.get(f"/projects/{project.pk}/data/export.csv").getvalue().decode()
    assert all(pseudonym(project, key) in exported for key in PEOPLE)
    api = api_for(lead)
    for path in ("raters/", "ratings/", "trail/"):
        said = json.dumps(api.get(f"/api/v1/projects/{project.pk}/{path}").json()["results"])
        for word in ("Person", "Benjamin", '"ben"', '"cleo"'):
            assert word not in said, (path, word)
    listed = api.get(f"/api/v1/projects/{project.pk}/raters/").json()["results"]
    assert {row["username"] for row in listed} == {None}
    # who administrates reads the trail as it stands
    admin = User.objects.create_superuser("root")
    assert "Benjamin" in client_for(admin).get(f"/projects/{project.pk}/trail/").text


def test_who_comes_later_is_hidden_at_once(
    rated: Any, project: Project, api_for: Any, lead: User, admin: User, make_user: Any
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    project.refresh_from_db()
    eva, finn = make_user("eva"), make_user("finn")
    membership.add_member(project=project, username="eva", role=Member.Role.ANNOTATOR, by=admin)
    Member.objects.create(project=project, user=finn, role=Member.Role.LEAD)
    assert get_or_create_rater(project, finn).key.startswith("rater-")
    api = api_for(lead)
    sent = {"key": "gus", "name": "Gus Person"}
    path = f"/api/v1/projects/{project.pk}/raters/"
    for counts in ({"created": 1}, {"unchanged": 1}):
        answer = api.post(path, sent, format="json").json()
        assert {name: n for name, n in answer.items() if n} == counts
    for key, user in (("eva", eva), ("finn", finn), ("gus", None)):
        rater = RaterIdentity.objects.get(project=project, key=key).rater
        assert (rater.key.startswith("rater-"), rater.name, rater.user) == (True, "", user)
    renamed = {"key": pseudonym(project, "gus"), "name": "Augustus"}
    assert api.post(path, renamed, format="json").json()["changed"] == 1
    both = [{"key": "gus"}, {"key": pseudonym(project, "gus")}]
    assert api.post(path, both, format="json").status_code == 400
    # an account's rater cannot be found by trying
    tied = api.post(path, {"key": "other", "username": "eva"}, format="json")
    assert tied.status_code == 400
    assert "rater-" not in tied.content.decode()
    rater_pseudonyms.restore_raters(project=project, by=lead)
    assert Rater.objects.get(project=project, key="gus").name == "Augustus"
    assert {"eva", "finn"} <= set(Rater.objects.values_list("key", flat=True))


def test_ratings_come_in_under_either_key(
    rated: Any, project: Project, api_for: Any, lead: User, annotator: User
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
        for key, label in (("ann", "major"), (pseudonym(project, "ann"), "minor")):
            assert send(user, key, label).status_code in (200, 201)
            stands = Rating.objects.get(rater=ann)
            assert stands.question.categories.get(code=stands.code).label == label
    assert send(annotator, "ben", "minor").status_code == 403
    assert send(lead, "nobody", "minor").status_code == 400
    twice = [
        {"item": "i1", "rater": key, "label": "none"} for key in ("ann", pseudonym(project, "ann"))
    ]
    answer = api_for(lead).post(path, twice, format="json")
    assert answer.status_code == 400
    assert "stand in row 0 already" in answer.content.decode()
    shown = api_for(annotator).get(path).json()["results"]
    assert {row["rater"] for row in shown} == {pseudonym(project, "ann")}
    # what is read is not found by true keys: that would tell who is who
    assert api_for(lead).get(path, {"rater": "ann"}).json()["results"] == []


def test_looking_is_for_leads_and_written_down(
    rated: Any, project: Project, client_for: Any, lead: User, annotator: User, viewer: User,
    make_user: Any, make_project: Any,
) -> None:  # fmt: skip
    rater_pseudonyms.hide_raters(project=project, by=lead)
    address = f"/projects/{project.pk}/people/identities/look/"
    other = make_user("other")
    elsewhere = make_project()
    Member.objects.create(project=elsewhere, user=other, role=Member.Role.LEAD)
    for user, status in ((annotator, 403), (viewer, 403), (other, 404)):
        assert client_for(user).post(address, {"reason": "curious"}).status_code == status
    assert client_for(lead).post(address, {"reason": "  "}).status_code == 400
    assert not TrailLine.objects.filter(what="raters_looked_at").exists()
    page = client_for(lead).post(address, {"reason": "a complaint"})
    assert all(word in page.text for word in ("Ben Person", "cleo", annotator.username))
    line = TrailLine.objects.get(what="raters_looked_at")
    assert (line.actor, line.project_id) == ("lead", project.pk)
    assert line.details["reason"] == "a complaint"
    again = client_for(lead).get(f"/projects/{project.pk}/people/identities/")
    assert "Ben Person" not in again.text
    assert "a complaint" in client_for(lead).get(f"/projects/{project.pk}/trail/").text


def test_nothing_is_switched_unless_one_is_sure(
    rated: Any, project: Project, client_for: Any, lead: User
) -> None:
    address = f"/projects/{project.pk}/people/identities/hide/"
    assert client_for(lead).post(address, {"hidden": "1"}).status_code == 400
    project.refresh_from_db()
    assert not project.raters_hidden
    hide(client_for(lead), project)
    hide(client_for(lead), project)  # again: nothing more
    assert TrailLine.objects.filter(what="raters_hidden").count() == 1
    hide(client_for(lead), project, on=False)
    assert TrailLine.objects.filter(what="raters_shown").count() == 1


def test_a_persons_own_data_say_who_they_are(
    rated: Any, project: Project, client_for: Any, lead: User
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    ben = RaterIdentity.objects.get(project=project, key="ben").rater
    told = json.loads(next(personal_data.iter_personal_data(ben)))
    assert (told["rater"], told["name"]) == ("ben", "Ben Person")
    page = client_for(lead).get(f"/projects/{project.pk}/people/raters/{ben.pk}/data.jsonl")
    assert json.loads(page.getvalue().splitlines()[0])["rater"] == ben.key
    kept = personal_data.pseudonymize_rater(rater=ben, by=lead, comments=False)
    assert kept.key == ben.key
    rater_pseudonyms.restore_raters(project=project, by=lead)
    kept.refresh_from_db()
    assert kept.key.startswith("former-")
    assert kept.name == ""


def test_a_change_of_a_hidden_rater_keeps_who_it_is(
    rated: Any, project: Project, client_for: Any, lead: User, annotator: User
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    ann = Rater.objects.get(project=project, user=annotator)
    address = f"/projects/{project.pk}/people/raters/{ann.pk}/"
    page = client_for(lead).get(address)
    assert "Ann Person" not in page.text
    assert set(page.context["form"].fields) == {"kind", "model", "prompt_version", "group"}
    sent = {"kind": "human", "group": "north", "name": "Somebody", "user": lead.pk}
    assert client_for(lead).post(address, sent).status_code == 302
    ann.refresh_from_db()
    assert (ann.name, ann.user, ann.group) == ("", annotator, "north")
    gpt = Rater.objects.get(project=project, key="gpt")
    sent = {"kind": "human", "group": "", "name": "G. P. Turner", "user": ""}
    client_for(lead).post(f"/projects/{project.pk}/people/raters/{gpt.pk}/", sent)
    gpt.refresh_from_db()
    assert gpt.key.startswith("rater-")
    assert gpt.identity.name == "G. P. Turner"


def test_an_import_finds_raters_under_either_key_and_hides_new_ones(
    rated: Any, project: Project, client_for: Any, lead: User
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    project.refresh_from_db()
    ann = Rater.objects.get(project=project, key=pseudonym(project, "ann"))
    ben = Rater.objects.get(project=project, key=pseudonym(project, "ben"))
    n_raters = Rater.objects.filter(project=project).count()
    file = f"item,rater,label\ni1,ann,major\ni1,{ben.key},minor\ni1,newcomer,minor\n"
    run = Wizard(client_for(lead), project).all(file.encode())
    assert run.state == "done", run.problems
    for rater, label in ((ann, "major"), (ben, "minor")):
        stands = Rating.objects.get(rater=rater)
        assert stands.question.categories.get(code=stands.code).label == label
    assert Rater.objects.filter(project=project).count() == n_raters + 1
    assert pseudonym(project, "newcomer").startswith("rater-")

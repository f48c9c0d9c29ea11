"""A lead writes to raters, and they find it at the desk and among their ratings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agreement_site.models import TrailLine
from events.models import Event
from projects.models import Item, Member, Project, Rater
from ratings.items import rater_pseudonyms
from ratings.models import RaterMessage

pytestmark = pytest.mark.django_db

TEXT = "Look twice at <b>major</b>.\nAsk me where it is unclear."


@pytest.fixture
def base(project: Project) -> str:
    Item.objects.create(project=project, key="i1", body={"text": "Text 1"})
    return f"/projects/{project.pk}/"


@pytest.fixture
def ann(project: Project) -> Rater:
    return Rater.objects.get(project=project, key="ann")


@pytest.fixture
def client(lead: User, client_for: Any) -> Client:
    found: Client = client_for(lead)
    return found


@pytest.fixture
def desk(annotator: User, client_for: Any) -> Client:
    found: Client = client_for(annotator)
    return found


@pytest.fixture
def written(ann: Rater, client: Client, base: str) -> RaterMessage:
    client.post(f"{base}write/", {"rater": ann.pk, "text": TEXT})
    return RaterMessage.objects.get()


def others(project: Project, user: User) -> list[Rater]:
    """Who cannot read: a model of a member, one without an account, one who may rate no more."""
    Member.objects.filter(project=project, user=user, role=Member.Role.VIEWER).get()
    program = User.objects.create_user("program")
    Member.objects.create(project=project, user=program, role=Member.Role.ANNOTATOR)
    return Rater.objects.bulk_create(
        [
            Rater(project=project, key="gpt", kind="model", user=program),
            Rater(project=project, key="loose"),
            Rater(project=project, key="vic", user=user),
        ]
    )


# --- the lead


def test_the_chosen_raters_are_written_to(
    project: Project, ann: Rater, viewer: User, client: Client, base: str, lead: User
) -> None:
    chosen = [ann, *others(project, viewer)]
    ids = [rater.pk for rater in chosen]
    passed = "question=severity&least=30"
    asked = client.post(f"{base}triage/", {"do": "write", "rater": ids, "passed": passed})
    page = client.get(asked["Location"])
    assert page.context["raters"] == [ann]
    assert "Left out, as they cannot read it: 3 of 4" in page.text
    sent = {"rater": page.context["ids"], "text": f"  {TEXT}\r\n", "passed": passed}
    answer = client.post(f"{base}write/", sent, follow=True)
    assert answer.redirect_chain == [(f"{base}raters/?{passed}", 302)]
    assert "Sent to 1 rater." in answer.text
    made = RaterMessage.objects.get()
    assert (made.rater, made.text, made.by, made.read_at) == (ann, TEXT, lead, None)
    client.post(f"{base}write/", sent)
    assert RaterMessage.objects.count() == 1  # sent twice, it stands once


def test_trail_and_event_name_the_message_and_not_its_text(
    written: RaterMessage, ann: Rater, lead: User
) -> None:
    line = TrailLine.objects.get(what="rater_written_to")
    assert (line.actor_id, line.after) == (lead.pk, {"rater": "ann", "message": written.pk})
    event = Event.objects.get(kind="rater_message")
    assert (event.subject, event.by) == (f"rater/{ann.pk}", lead)
    assert event.data == {"rater": "ann", "message": written.pk}


def test_who_cannot_read_is_said_to(
    project: Project, viewer: User, client: Client, base: str
) -> None:
    [gpt, *_rest] = others(project, viewer)
    page = client.get(f"{base}write/?rater={gpt.pk}")
    assert "The chosen rater cannot read it" in page.text
    assert "<textarea" not in page.text
    assert client.post(f"{base}write/", {"rater": gpt.pk, "text": "x"}).status_code == 400
    assert not RaterMessage.objects.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \r\n ", "Write something first."),
        ("x" * 2_001, "2000 characters at most"),
        ("a\0b", "2000 characters at most, and no NUL"),
    ],
)
def test_what_is_no_message_is_refused(
    ann: Rater, client: Client, base: str, text: str, said: str
) -> None:
    answer = client.post(f"{base}write/", {"rater": ann.pk, "text": text})
    assert answer.status_code == 400
    assert said in answer.text
    assert not RaterMessage.objects.exists()
    whole = client.post(f"{base}write/", {"rater": ann.pk, "text": "x" * 2_000})
    assert whole.status_code == 302


@pytest.mark.parametrize("chosen", ["", "0", "x", "1,", "theirs"])
def test_only_raters_of_the_project(
    ann: Rater, client: Client, base: str, make_project: Any, chosen: str
) -> None:
    other = Rater.objects.create(project=make_project(name="Other"), key="else")
    ids = {"theirs": f"{ann.pk},{other.pk}", "1,": f"{ann.pk},{2**63}"}.get(chosen, chosen)
    assert client.get(f"{base}write/", {"rater": ids}).status_code == 400
    assert client.post(f"{base}write/", {"rater": ids, "text": "x"}).status_code == 400
    assert not RaterMessage.objects.exists()


@pytest.mark.parametrize(
    ("who", "status"), [("annotator", 403), ("viewer", 403), ("stranger", 404)]
)
def test_leads_alone_write(
    request: pytest.FixtureRequest, ann: Rater, client_for: Any, base: str, who: str, status: int
) -> None:
    client = client_for(request.getfixturevalue(who))
    assert client.get(f"{base}write/?rater={ann.pk}").status_code == status
    assert client.post(f"{base}write/", {"rater": ann.pk, "text": "x"}).status_code == status
    sent = {"do": "write", "rater": ann.pk}
    assert client.post(f"{base}triage/", sent).status_code == status
    assert not RaterMessage.objects.exists()


def test_the_raters_page_tells_what_was_written_and_whether_it_was_read(
    written: RaterMessage, client: Client, client_for: Any, viewer: User, desk: Client, base: str
) -> None:
    address = f"{base}raters/ann/"
    page = client.get(address).text
    assert "Look twice at &lt;b&gt;major&lt;/b&gt;.<br>Ask me" in page
    assert "not read yet" in page
    assert 'value="write"' in page
    desk.post(f"{base}messages/{written.pk}/read/")
    assert "not read yet" not in client.get(address).text
    seen = client_for(viewer).get(address).text
    assert "Look twice" not in seen
    assert 'value="write"' not in seen


def test_who_has_no_account_is_not_offered_to_be_written_to(
    project: Project, viewer: User, client: Client, base: str
) -> None:
    others(project, viewer)
    assert 'value="write"' in client.get(f"{base}raters/ann/").text
    assert 'value="write"' not in client.get(f"{base}raters/loose/").text


def test_from_a_raters_page_one_comes_back_to_it(ann: Rater, client: Client, base: str) -> None:
    sent = {"do": "write", "rater": ann.pk, "passed": "question=severity", "back": "rater"}
    page = client.get(client.post(f"{base}triage/", sent)["Location"])
    assert page.context["back_url"] == f"{base}raters/ann/?question=severity"


def test_under_a_pseudonym_no_name_is_told(
    project: Project, ann: Rater, lead: User, client: Client, desk: Client, base: str
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    ann.refresh_from_db()
    page = client.get(f"{base}write/?rater={ann.pk}").text
    assert ann.key in page and "Ann" not in page and "annotator" not in page
    client.post(f"{base}write/", {"rater": ann.pk, "text": "Hello."})
    assert "Hello." in desk.get(f"{base}rate/").text
    shown = client.get(f"{base}raters/{ann.key}/").text
    assert "Hello." in shown and "annotator" not in shown


# --- the rater


def test_it_stands_at_the_desk_until_it_was_read(
    written: RaterMessage, desk: Client, base: str
) -> None:
    page = desk.get(f"{base}rate/")
    assert "Message from lead" in page.text
    assert "Look twice at &lt;b&gt;major&lt;/b&gt;.<br>Ask me where it is unclear." in page.text
    item = page.context["item"]
    assert "Look twice" in desk.get(f"{base}rate/", headers={"X-Desk": "sheet"}).text
    read = desk.post(f"{base}messages/{written.pk}/read/", {"item": item.pk})
    assert read["Location"] == f"{base}rate/{item.pk}/"
    after = desk.get(read["Location"])
    assert after.context["item"] == item
    assert "Look twice" not in after.text
    written.refresh_from_db()
    first = written.read_at
    again = desk.post(f"{base}messages/{written.pk}/read/", headers={"X-Desk": "sheet"})
    assert again.status_code == 204
    written.refresh_from_db()
    assert first is not None and written.read_at == first


def test_it_stands_where_nothing_is_left_and_where_rating_is_paused(
    written: RaterMessage, desk: Client, base: str, ann: Rater
) -> None:
    item = Item.objects.get()
    desk.get(f"{base}rate/")
    ann.paused = True
    ann.save()
    assert "Look twice" in desk.get(f"{base}rate/").text
    sheet = desk.get(f"{base}rate/{item.pk}/", headers={"X-Desk": "sheet"})
    assert sheet.status_code == 403 and "Look twice" in sheet.text
    answer = desk.post(f"{base}messages/{written.pk}/read/", {"back": "my_ratings"})
    assert answer["Location"] == f"{base}my-ratings/"
    written.refresh_from_db()
    assert written.read_at is not None
    RaterMessage.objects.update(read_at=None)
    ann.paused = False
    ann.save()
    Item.objects.all().delete()
    page = desk.get(f"{base}rate/")
    assert page.context.get("item") is None and "Look twice" in page.text


def test_my_ratings_lists_them(written: RaterMessage, desk: Client, base: str) -> None:
    page = desk.get(f"{base}my-ratings/")
    assert [one.pk for one in page.context["unread"]] == [written.pk]
    assert "Got it" in page.text
    desk.post(f"{base}messages/{written.pk}/read/")
    page = desk.get(f"{base}my-ratings/")
    assert "Got it" not in page.text
    assert "Messages that you read" in page.text and "Look twice" in page.text


def test_the_first_unread_comes_first(
    written: RaterMessage, desk: Client, client: Client, base: str, ann: Rater
) -> None:
    client.post(f"{base}write/", {"rater": ann.pk, "text": "And another."})
    assert "And another." not in desk.get(f"{base}rate/").text
    desk.post(f"{base}messages/{written.pk}/read/")
    assert "And another." in desk.get(f"{base}rate/").text


@pytest.mark.parametrize("who", ["lead", "stranger", "viewer"])
def test_nobody_else_reads_it(
    request: pytest.FixtureRequest, written: RaterMessage, client_for: Any, base: str, who: str
) -> None:
    """A lead who is no rater finds none, as one who is another rater does."""
    client = client_for(request.getfixturevalue(who))
    status = 403 if who == "viewer" else 404
    assert client.post(f"{base}messages/{written.pk}/read/").status_code == status
    if who == "lead":
        client.post(f"{base}rate/")
        assert "Look twice" not in client.get(f"{base}rate/").text
        assert client.post(f"{base}messages/{written.pk}/read/").status_code == 404
        assert client.post(f"{base}messages/{2**63}/read/").status_code == 404
    assert client.get(f"{base}messages/{written.pk}/read/").status_code == 405
    written.refresh_from_db()
    assert written.read_at is None


def test_who_asks_what_is_kept_of_them_gets_it(
    written: RaterMessage, client: Client, base: str, ann: Rater
) -> None:
    data = client.get(f"{base}people/raters/{ann.pk}/data.jsonl").getvalue().decode()
    told = [json.loads(line) for line in data.splitlines()]
    [message] = [line for line in told if "message" in line]
    assert (message["message"], message["by"], message["read_at"]) == (TEXT, "lead", None)


def test_an_account_that_goes_leaves_the_message(
    written: RaterMessage, desk: Client, base: str, client: Client, make_user: Any
) -> None:
    RaterMessage.objects.update(by=None)
    assert "Message from a lead" in desk.get(f"{base}rate/").text
    assert "Look twice" in client.get(f"{base}raters/ann/").text

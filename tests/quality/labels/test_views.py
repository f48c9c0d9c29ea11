"""The pages of labels and decisions, as a lead, a viewer and an annotator meet them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import GoldAnswer, Item, Member, Question
from quality.consensus import recompute
from quality.models import Claim, Consensus, Decision, ItemLabel, NamesSeen
from quality.review import decisions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture
def labelled(answered: Question) -> Question:
    recompute.recompute_question(answered.pk)
    return answered


@pytest.fixture
def page(labelled: Question) -> str:
    return f"/projects/{labelled.project_id}/"


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


def test_the_page_before_anything_was_rated(project: Any, client: Client) -> None:
    answer = client.get(f"/projects/{project.pk}/labels/")
    assert answer.status_code == 200
    assert "No labels yet." in answer.text


def test_the_labels_with_what_they_rest_on(client: Client, page: str) -> None:
    first = client.get(f"{page}labels/")
    assert first.status_code == 200
    state = Consensus.objects.get()
    assert f"Of {state.n_items} rated items" in " ".join(first.text.split())
    assert "nan" not in first.text.lower().split()
    seen = first.context["rows"]
    rest = client.get(f"{page}labels/?after={first.context['next_after']}")
    assert len(seen) == 50
    assert len({row["item"] for row in [*seen, *rest.context["rows"]]}) == 60
    # By what it says, as in every list; in the table's file by its key.
    key, path = seen[0]["item"], f"{page}items/{seen[0]['item']}/"
    assert f'<a href="{path}" title="{key}">text {int(key[1:])}</a>' in first.text
    table = client.get(f"{page}labels/?csv=list-title")
    assert f"\n{key}," in table.text


@pytest.mark.parametrize("query", ["source=me", "after=x", "question=no"])
def test_an_address_that_cannot_be_is_not_found(client: Client, page: str, query: str) -> None:
    assert client.get(f"{page}labels/?{query}").status_code == 404


@pytest.mark.parametrize("kind", ["csv", "jsonl", "card", "label_studio", "argilla"])
def test_the_files(client: Client, page: str, kind: str) -> None:
    answer = client.get(f"{page}labels.{kind}")
    assert answer.status_code == 200
    body: Any = answer.getvalue()
    assert len(body) > 500
    assert "attachment" in answer["Content-Disposition"]


def test_only_sure_labels_in_a_file(client: Client, page: str) -> None:
    rows: Any = client.get(f"{page}labels.csv?at_least=0.99").getvalue()
    state = Consensus.objects.get()
    (sure,) = (row["items"] for row in state.sure if row["least"] == 0.99)
    assert len(rows.splitlines()) == sure + 1
    for query in ("at_least=2", "at_least=x"):
        assert client.get(f"{page}labels.csv?{query}").status_code == 404
    assert client.get(f"{page}labels.exe").status_code == 404


def test_a_lead_chooses_the_method(client: Client, page: str) -> None:
    answer = client.post(f"{page}labels/method/", {"method": "majority"})
    assert answer.status_code == 302
    assert Consensus.objects.get().method == "majority"
    assert client.post(f"{page}labels/method/", {"method": "dice"}).status_code == 400
    assert Consensus.objects.get().method == "majority"


def test_a_sitting_of_decisions(client: Client, page: str, lead: User) -> None:
    """The most doubtful first, votes without names, then the next one."""
    first = client.get(f"{page}adjudicate/")
    item = first.context["item"]
    label = ItemLabel.objects.get(item=item)
    assert label.doubt == max(ItemLabel.objects.values_list("doubt", flat=True))
    for rater in ("ann", "Ann", "ben", "cleo", "dan"):
        assert f">{rater}<" not in first.text
    answer = client.post(
        f"{page}adjudicate/{item.pk}/decide/", {"code": "2", "reason": "see 3.1"}, follow=True
    )
    assert answer.context["item"] != item
    made = Decision.objects.get()
    assert (made.item, made.code, made.reason, made.by) == (item, 2, "see 3.1", lead)
    again = client.get(f"{page}adjudicate/?item={item.key}")
    assert "see 3.1" in again.text
    client.post(f"{page}adjudicate/{item.pk}/gold/")
    gold = GoldAnswer.objects.get()
    assert (gold.item, gold.answer, gold.explanation, gold.by) == (item, [2], "see 3.1", lead)
    client.post(f"{page}adjudicate/{item.pk}/decide/", {"code": "back"})
    assert Decision.objects.latest("number").code is None
    assert client.post(f"{page}adjudicate/{item.pk}/gold/").status_code == 404


def test_names_are_shown_on_demand_and_that_is_written_down(
    client: Client, page: str, lead: User
) -> None:
    item = client.get(f"{page}adjudicate/").context["item"]
    answer = client.post(f"{page}adjudicate/{item.pk}/names/", follow=True)
    rater = item.ratings.select_related("rater").first().rater
    assert str(rater) in answer.text
    seen = NamesSeen.objects.get()
    assert (seen.item, seen.by) == (item, lead)


def test_another_item_first(client: Client, page: str) -> None:
    item = client.get(f"{page}adjudicate/").context["item"]
    answer = client.post(f"{page}adjudicate/{item.pk}/later/", follow=True)
    assert answer.context["item"] != item


def test_what_cannot_be_decided_is_said_and_changes_nothing(
    client: Client, page: str, labelled: Question, admin: User
) -> None:
    item = Item.objects.get(key="i00")
    decide = f"{page}adjudicate/{item.pk}/decide/"
    for code in ("", "99", "x", "-1", "back"):
        answer = client.post(decide, {"code": code})
        assert answer.status_code == 400
        assert 'role="alert"' in answer.text
    decisions.claim_item(question=labelled, item=item, by=admin)
    answer = client.post(decide, {"code": "1"})
    assert answer.status_code == 409
    assert "admin is deciding this item just now" in answer.text
    assert client.post(f"{page}adjudicate/{item.pk}/later/").status_code == 404
    assert not Decision.objects.exists()
    assert Claim.objects.get().by == admin


def test_the_habits_of_raters(client: Client, page: str) -> None:
    listed = client.get(f"{page}labels/raters/")
    keys = [row.rater.key for row in listed.context["page"]]
    assert keys[0] == "dan", "the least careful first"
    assert sorted(keys) == ["ann", "ben", "cleo", "dan"]
    one = client.get(f"{page}labels/raters/?rater=dan")
    matrix = one.context["matrix"]
    assert [row.label for row in matrix] == ["none", "minor", "major", "critical"]
    for row in matrix:
        assert sum(row.shares) == pytest.approx(1)
    assert client.get(f"{page}labels/raters/?rater=nobody").status_code == 404
    assert client.get(f"{page}labels/raters/?page=9").status_code == 404
    Consensus.objects.update(method="majority")
    recompute.recompute_question(Consensus.objects.get().pk, at_once=True)
    assert "Nothing is estimated yet" in client.get(f"{page}labels/raters/").text
    assert "Nothing is estimated yet" in client.get(f"{page}labels/raters/?rater=dan").text


def test_who_may_what(
    client_for: Callable[[User], Client], page: str, viewer: User, annotator: User, stranger: User
) -> None:
    item = Item.objects.get(key="i00")
    leads_only = [
        ("post", "labels/method/"),
        ("get", "adjudicate/"),
        ("post", f"adjudicate/{item.pk}/decide/"),
        ("post", f"adjudicate/{item.pk}/later/"),
        ("post", f"adjudicate/{item.pk}/names/"),
        ("post", f"adjudicate/{item.pk}/gold/"),
    ]
    for user, status in ((viewer, 403), (annotator, 403), (stranger, 404)):
        client = client_for(user)
        for method, path in leads_only:
            assert getattr(client, method)(page + path).status_code == status
        for path in ("labels/", "labels/raters/", "labels.csv"):
            expected = 200 if user == viewer else status
            assert client.get(page + path).status_code == expected
    assert Client().get(f"{page}labels/").status_code == 302


def test_an_adjudicator_decides_and_sets_nothing_up(
    client_for: Callable[[User], Client], page: str, labelled: Question, make_user: Any
) -> None:
    judge = make_user("judge")
    Member.objects.create(project=labelled.project, user=judge, role="adjudicator")
    client = client_for(judge)
    shown = client.get(f"{page}labels/")
    assert f"{page}adjudicate/" in shown.text
    assert f"{page}rate/" not in shown.text
    item = client.get(f"{page}adjudicate/").context["item"]
    answer = client.post(f"{page}adjudicate/{item.pk}/decide/", {"code": "2"})
    assert answer.status_code == 302
    assert Decision.objects.get().by == judge
    assert (
        f"{page}adjudicate/{item.pk}/gold/"
        not in client.get(f"{page}adjudicate/?item={item.key}").text
    )
    for method, path, status in (
        ("get", "", 200),
        ("get", "people/", 403),
        ("get", "setup/", 403),
        ("get", "rate/", 403),
        ("post", "labels/method/", 403),
        ("post", f"adjudicate/{item.pk}/gold/", 403),
    ):
        assert getattr(client, method)(page + path).status_code == status, path

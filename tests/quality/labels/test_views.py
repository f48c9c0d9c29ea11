"""Test the pages of labels and decisions for a lead, a viewer and an annotator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import GoldAnswer, Item, Member, Question
from quality.consensus import recomputation
from quality.models import Consensus, Decision, ItemLabel, NameReveal, ReviewClaim
from quality.review import decisions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def labelled_question(rated_question: Question) -> Question:
    recomputation.recompute_question(rated_question.pk)
    return rated_question


@pytest.fixture
def base_url(labelled_question: Question) -> str:
    return f"/projects/{labelled_question.project_id}/"


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


def test_label_page_without_ratings(project: Any, client: Client) -> None:
    response = client.get(f"/projects/{project.pk}/labels/")
    assert response.status_code == 200
    assert "No labels yet." in response.text


def test_label_page_lists_labels_and_their_source(client: Client, base_url: str) -> None:
    first_page = client.get(f"{base_url}labels/")
    assert first_page.status_code == 200
    state = Consensus.objects.get()
    assert f"of {state.n_items} labels" in " ".join(first_page.text.split())
    assert "nan" not in first_page.text.lower().split()
    first_rows = first_page.context["rows"]
    second_page = client.get(f"{base_url}labels/?after={first_page.context['next_after']}")
    assert len(first_rows) == 50
    assert len({row["item"] for row in [*first_rows, *second_page.context["rows"]]}) == 60
    # The page shows the item's text, as every list does; the CSV file has its key.
    key, path = first_rows[0]["item"], f"{base_url}items/{first_rows[0]['item']}/"
    assert f'<a href="{path}" title="{key}">text {int(key[1:])}</a>' in first_page.text
    csv_response = client.get(f"{base_url}labels/?csv=list-title")
    assert f"\n{key}," in csv_response.text


@pytest.mark.parametrize("query", ["source=me", "after=x", "question=no"])
def test_invalid_query_is_not_found(client: Client, base_url: str, query: str) -> None:
    assert client.get(f"{base_url}labels/?{query}").status_code == 404


@pytest.mark.parametrize("kind", ["csv", "jsonl", "card", "label_studio", "argilla"])
def test_labels_are_downloaded_as_files(client: Client, base_url: str, kind: str) -> None:
    response = client.get(f"{base_url}labels.{kind}")
    assert response.status_code == 200
    body: Any = response.getvalue()
    assert len(body) > 500
    assert "attachment" in response["Content-Disposition"]


def test_file_contains_only_labels_above_the_confidence(client: Client, base_url: str) -> None:
    rows: Any = client.get(f"{base_url}labels.csv?at_least=0.99").getvalue()
    state = Consensus.objects.get()
    (n_confident,) = (
        row["n_items"] for row in state.certainty_levels if row["min_confidence"] == 0.99
    )
    assert len(rows.splitlines()) == n_confident + 1
    for query in ("at_least=2", "at_least=x"):
        assert client.get(f"{base_url}labels.csv?{query}").status_code == 404
    assert client.get(f"{base_url}labels.exe").status_code == 404


def test_a_lead_chooses_the_method(client: Client, base_url: str) -> None:
    response = client.post(f"{base_url}labels/method/", {"method": "majority"})
    assert response.status_code == 302
    assert Consensus.objects.get().method == "majority"
    assert client.post(f"{base_url}labels/method/", {"method": "dice"}).status_code == 400
    assert Consensus.objects.get().method == "majority"


@pytest.mark.parametrize(("scale", "is_ordered"), [("ordinal", True), ("nominal", False)])
def test_ordered_labels_are_called_medians(
    client: Client, base_url: str, labelled_question: Question, scale: str, is_ordered: bool
) -> None:
    Question.objects.filter(pk=labelled_question.pk).update(scale=scale)
    page = client.get(f"{base_url}labels/").text
    assert ("Labels are medians." in page) == is_ordered
    Consensus.objects.update(model={})  # a majority has no medians
    assert "Labels are medians." not in client.get(f"{base_url}labels/").text


def test_list_marks_labels_that_are_not_the_likeliest_as_medians(
    client: Client, base_url: str
) -> None:
    labels = ItemLabel.objects.order_by("item")[:50]
    n_medians = sum(label.is_median for label in labels)
    assert n_medians > 0
    page = client.get(f"{base_url}labels/").text
    assert page.count('<span class="small muted">median</span>') == n_medians


def test_review_shows_most_uncertain_item_first(client: Client, base_url: str, lead: User) -> None:
    """Votes are shown without names, and the next item follows."""
    first_page = client.get(f"{base_url}review/")
    item = first_page.context["item"]
    label = ItemLabel.objects.get(item=item)
    assert label.doubt == max(ItemLabel.objects.values_list("doubt", flat=True))
    for rater in ("ann", "Ann", "ben", "cleo", "dan"):
        assert f">{rater}<" not in first_page.text
    next_page = client.post(
        f"{base_url}review/{item.pk}/decide/", {"code": "2", "reason": "see 3.1"}, follow=True
    )
    assert next_page.context["item"] != item
    decision = Decision.objects.get()
    assert (decision.item, decision.code, decision.reason, decision.by) == (
        item,
        2,
        "see 3.1",
        lead,
    )
    item_page = client.get(f"{base_url}review/?item={item.key}")
    assert "see 3.1" in item_page.text
    client.post(f"{base_url}review/{item.pk}/gold/")
    gold = GoldAnswer.objects.get()
    assert (gold.item, gold.answer, gold.explanation, gold.by) == (item, [2], "see 3.1", lead)
    client.post(f"{base_url}review/{item.pk}/decide/", {"code": "back"})
    assert Decision.objects.latest("number").code is None
    assert client.post(f"{base_url}review/{item.pk}/gold/").status_code == 404


def test_names_are_shown_on_demand_and_that_is_recorded(
    client: Client, base_url: str, lead: User
) -> None:
    item = client.get(f"{base_url}review/").context["item"]
    response = client.post(f"{base_url}review/{item.pk}/reveal-names/", follow=True)
    rater = item.ratings.select_related("rater").first().rater
    assert str(rater) in response.text
    names_seen = NameReveal.objects.get()
    assert (names_seen.item, names_seen.by) == (item, lead)


def test_postponed_item_is_followed_by_another(client: Client, base_url: str) -> None:
    item = client.get(f"{base_url}review/").context["item"]
    response = client.post(f"{base_url}review/{item.pk}/postpone/", follow=True)
    assert response.context["item"] != item


def test_invalid_decision_shows_an_error_and_changes_nothing(
    client: Client, base_url: str, labelled_question: Question, admin: User
) -> None:
    item = Item.objects.get(key="i00")
    decide = f"{base_url}review/{item.pk}/decide/"
    for code in ("", "99", "x", "-1", "back"):
        response = client.post(decide, {"code": code})
        assert response.status_code == 400
        assert 'role="alert"' in response.text
    decisions.claim_item(question=labelled_question, item=item, by=admin)
    response = client.post(decide, {"code": "1"})
    assert response.status_code == 409
    assert "admin is reviewing this item" in response.text
    assert client.post(f"{base_url}review/{item.pk}/postpone/").status_code == 404
    assert not Decision.objects.exists()
    assert ReviewClaim.objects.get().by == admin


def test_confusion_pages_of_raters(client: Client, base_url: str) -> None:
    list_page = client.get(f"{base_url}labels/confusions/")
    keys = [row.rater.key for row in list_page.context["page"]]
    assert keys[0] == "dan", "the least careful first"
    impacts = [row.impact for row in list_page.context["page"]]
    assert impacts == sorted(impacts, reverse=True) and "Impact" in list_page.text
    assert sorted(keys) == ["ann", "ben", "cleo", "dan"]
    rater_page = client.get(f"{base_url}labels/confusions/?rater=dan")
    matrix = rater_page.context["matrix"]
    assert [row.label for row in matrix] == ["none", "minor", "major", "critical"]
    for row in matrix:
        assert sum(row.shares) == pytest.approx(1)
    assert client.get(f"{base_url}labels/confusions/?rater=nobody").status_code == 404
    assert client.get(f"{base_url}labels/confusions/?page=9").status_code == 404
    Consensus.objects.update(method="majority")
    recomputation.recompute_question(Consensus.objects.get().pk, at_once=True)
    assert "Needs Dawid–Skene" in client.get(f"{base_url}labels/confusions/").text
    assert "Needs Dawid–Skene" in client.get(f"{base_url}labels/confusions/?rater=dan").text


def test_permissions_of_label_pages(
    client_for: Callable[[User], Client],
    base_url: str,
    viewer: User,
    annotator: User,
    stranger: User,
) -> None:
    item = Item.objects.get(key="i00")
    leads_only = [
        ("post", "labels/method/"),
        ("get", "review/"),
        ("post", f"review/{item.pk}/decide/"),
        ("post", f"review/{item.pk}/postpone/"),
        ("post", f"review/{item.pk}/reveal-names/"),
        ("post", f"review/{item.pk}/gold/"),
    ]
    for user, status in ((viewer, 403), (annotator, 403), (stranger, 404)):
        client = client_for(user)
        for method, path in leads_only:
            assert getattr(client, method)(base_url + path).status_code == status
        for path in ("labels/", "labels/confusions/", "labels.csv"):
            expected = 200 if user == viewer else status
            assert client.get(base_url + path).status_code == expected
    assert Client().get(f"{base_url}labels/").status_code == 302


def test_adjudicator_decides_but_changes_no_settings(
    client_for: Callable[[User], Client], base_url: str, labelled_question: Question, make_user: Any
) -> None:
    adjudicator = make_user("judge")
    Member.objects.create(project=labelled_question.project, user=adjudicator, role="adjudicator")
    client = client_for(adjudicator)
    labels_page = client.get(f"{base_url}labels/")
    assert f"{base_url}review/" in labels_page.text
    assert f"{base_url}rate/" not in labels_page.text
    item = client.get(f"{base_url}review/").context["item"]
    response = client.post(f"{base_url}review/{item.pk}/decide/", {"code": "2"})
    assert response.status_code == 302
    assert Decision.objects.get().by == adjudicator
    assert (
        f"{base_url}review/{item.pk}/gold/"
        not in client.get(f"{base_url}review/?item={item.key}").text
    )
    for method, path, status in (
        ("get", "", 200),
        ("get", "people/", 403),
        ("get", "settings/", 403),
        ("get", "rate/", 403),
        ("post", "labels/method/", 403),
        ("post", f"review/{item.pk}/gold/", 403),
    ):
        assert getattr(client, method)(base_url + path).status_code == status, path

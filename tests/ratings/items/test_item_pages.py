"""Pages on which leads add, edit, withdraw and restore items and set gold answers."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from metrics.views.items import item_rows
from projects.models import GoldAnswer, Item, ItemVersion, Project, Rater
from projects.services import gold
from projects.services.item_upsert import upsert_items
from ratings.annotation.assignments import queue
from ratings.items import item_search
from ratings.models import Assignment, Rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead_client(client_for: Any, lead: Any) -> Any:
    return client_for(lead)


def build_form_data(
    key: str = "", parts: Any = (), attributes: Any = (), **extra: Any
) -> dict[str, Any]:
    data: dict[str, Any] = {"key": key, **extra}
    for prefix, rows in (("parts", list(parts)), ("attributes", list(attributes))):
        data[f"{prefix}-TOTAL_FORMS"] = len(rows) + 1
        data[f"{prefix}-INITIAL_FORMS"] = 0
        for number, (name, value) in enumerate([*rows, ("", "")]):
            data[f"{prefix}-{number}-name"] = name
            data[f"{prefix}-{number}-value"] = value
    return data


def get_text(response: Any) -> str:
    return response.content.decode()


def list_item_keys(client: Any, project: Project, query: str = "") -> list[str]:
    response = client.get(f"/projects/{project.pk}/items/{query}")
    assert response.status_code == 200
    return [row.item.key for row in response.context["rows"]]


def test_item_created_by_hand_is_shown_to_an_annotator(
    lead_client: Any, project: Project, client_for: Any, annotator: Any
) -> None:
    address = reverse("item_new", args=[project.pk])
    assert lead_client.get(address).status_code == 200
    response = lead_client.post(
        address, build_form_data("tweet 1", [("", "Hello\r\nthere")], [("lang", "en")])
    )
    assert response["Location"] == f"/projects/{project.pk}/items/tweet%201/"
    item = Item.objects.get()
    assert (item.key, item.body, item.attributes) == (
        "tweet 1",
        {"text": "Hello\nthere"},
        {"lang": "en"},
    )
    assert "Hello" in get_text(client_for(annotator).get(f"/projects/{project.pk}/rate/"))


def test_several_parts_are_shown_by_name(lead_client: Any, project: Project) -> None:
    address = reverse("item_new", args=[project.pk])
    parts = [("source", "Guten Tag"), ("translation", "Good day")]
    preview = lead_client.post(
        reverse("item_preview", args=[project.pk]), build_form_data("a", parts)
    )
    assert "<dt>source</dt>" in get_text(preview)
    lead_client.post(address, build_form_data("a", parts, another="on"))
    assert Item.objects.get().body == {"source": "Guten Tag", "translation": "Good day"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (build_form_data("", [("", "x")]), "required"),
        (build_form_data("old", [("", "x")]), "“old” already exists."),
        (build_form_data("a\nb", [("", "x")]), "One line of at most"),
        (build_form_data("a", []), "Enter the text to rate"),
        (build_form_data("a", [("", "  ")]), "Enter the text to rate"),
        (build_form_data("a", [("source", "x"), ("source", "y")]), "“source” appears twice."),
        (build_form_data("a", [("", "x")], [("", "value alone")]), "Enter a name."),
        (build_form_data("a", [("", "a\x00b")]), "Null characters are not allowed"),
    ],
)
def test_invalid_item_is_reported_and_not_stored(
    lead_client: Any, project: Project, data: Any, message: str
) -> None:
    Item.objects.create(project=project, key="old")
    response = lead_client.post(reverse("item_new", args=[project.pk]), data)
    assert response.status_code == 400
    assert message in get_text(response)
    assert Item.objects.count() == 1


def test_adding_a_row_keeps_the_input(lead_client: Any, project: Project) -> None:
    data = build_form_data("a", [("source", "Guten Tag")], add_row="parts")
    response = lead_client.post(reverse("item_new", args=[project.pk]), data)
    assert "Guten Tag" in get_text(response)
    assert 'name="parts-2-value"' in get_text(response)
    assert not Item.objects.exists()


def test_edit_after_ratings_makes_a_version_and_shows_a_warning(
    lead_client: Any, project: Project, question: Any, rate: Any, lead: Any
) -> None:
    upsert_items(
        project=project,
        rows=[{"key": "a", "body": {"text": "One", "n": 5}, "attributes": {"x": 1, "y": "z"}}],
    )
    rate(question, "a", "ann", "minor")
    item = Item.objects.get()
    address = reverse("item_edit", args=[project.pk, item.pk])
    page = get_text(lead_client.get(address))
    assert "A new text becomes version 2; 1 rating keeps its version" in page
    assert "Unchanged: n." in page
    data = build_form_data("ignored", [("text", "Two")], [("x", "1"), ("y", "zz")], version=1)
    assert lead_client.post(address, data).status_code == 302
    item.refresh_from_db()
    assert (item.key, item.version) == ("a", 2)
    assert item.body == {"text": "Two", "n": 5}
    assert item.attributes == {"x": 1, "y": "zz"}  # unchanged values keep their type
    assert ItemVersion.objects.get().by == lead
    rate(question, "a", "ben", "minor")
    assert list(Rating.objects.order_by("pk").values_list("item_version", flat=True)) == [1, 2]
    item_page = get_text(lead_client.get(f"/projects/{project.pk}/items/a/"))
    assert "version 1, until" in item_page
    assert item_page.count("of version 1") == 1
    # An edit of the first version does not overwrite the second.
    response = lead_client.post(address, data)
    assert response.status_code == 400
    assert "Someone else changed this" in get_text(response)


def test_selected_items_are_withdrawn_and_restored(
    lead_client: Any, project: Project, make_project: Any
) -> None:
    upsert_items(
        project=project, rows=[{"key": key, "body": {"text": key}} for key in ("a", "b", "c")]
    )
    foreign_item = Item.objects.create(project=make_project("Other"), key="f", body={"text": "f"})
    ids = dict(Item.objects.values_list("key", "pk"))
    address = reverse("items_bulk", args=[project.pk])
    data = {
        "item": [ids["a"], ids["c"], foreign_item.pk, "x"],
        "next": "/projects/1/items/?search=q",
    }
    response = lead_client.post(address, {**data, "action": "withdraw"})
    assert response["Location"] == "/projects/1/items/?search=q"
    assert set(Item.objects.exclude(withdrawn_at=None).values_list("key", flat=True)) == {"a", "c"}
    assert list_item_keys(lead_client, project, "?state=withdrawn") == ["a", "c"]
    page = get_text(lead_client.get(f"/projects/{project.pk}/items/"))
    assert "2 withdrawn" in page
    lead_client.post(
        address, {"item": ids["a"], "action": "restore", "next": "https://evil.example/"}
    )
    assert list_item_keys(lead_client, project, "?state=withdrawn") == ["c"]


def test_lead_sees_items_that_wait_for_content(lead_client: Any, project: Project) -> None:
    upsert_items(
        project=project, rows=[{"key": "a", "body": {}}, {"key": "b", "body": {"text": "x"}}]
    )
    page = get_text(lead_client.get(f"/projects/{project.pk}/items/"))
    assert "1 without content" in page
    assert list_item_keys(lead_client, project, "?state=empty") == ["a"]
    assert "it isn't assigned" in get_text(lead_client.get(f"/projects/{project.pk}/items/a/"))


def test_list_is_filtered_and_sorted(
    lead_client: Any, project: Project, question: Any, rate: Any
) -> None:
    rows = [
        {"key": key, "body": {"text": text}, "attributes": {"lang": lang}}
        for key, text, lang in (
            ("a", "Red apple", "en"),
            ("b", "Roter Apfel", "de"),
            ("c", "Grüner Apfel", "de"),
            ("d", "none", "de"),
        )
    ]
    upsert_items(project=project, rows=rows)
    labels_by_item = {
        "a": ["none", "critical"],
        "b": ["minor"] * 3,
        "c": ["none", "minor", "minor", "none"],
    }
    for item, labels in labels_by_item.items():
        for number, label in enumerate(labels):
            rate(question, item, f"r{number}", label)
    assert list_item_keys(lead_client, project) == ["a", "b", "c", "d"]
    assert list_item_keys(lead_client, project, "?search=apfel") == ["b", "c"]
    assert list_item_keys(lead_client, project, "?search=GRÜNER") == ["c"]
    assert list_item_keys(lead_client, project, "?attribute=lang%3Dde&ratings=0") == ["d"]
    assert list_item_keys(lead_client, project, "?ratings=3") == ["b"]
    assert list_item_keys(lead_client, project, "?sort=disagreement") == ["a", "c", "b"]
    assert list_item_keys(lead_client, project, "?sort=ratings") == ["c", "b", "a"]
    assert list_item_keys(
        lead_client, project, "?sort=ratings&attribute=lang%3Dde&search=apfel"
    ) == ["c", "b"]
    assert lead_client.get(f"/projects/{project.pk}/items/?attribute=lang").status_code == 400
    assert lead_client.get(f"/projects/{project.pk}/items/?sort=odd").status_code == 404


def test_csv_file_has_the_filtered_items(
    lead_client: Any, project: Project, question: Any, rate: Any, client_for: Any, viewer: Any
) -> None:
    rows = [
        {"key": "a", "body": {"text": '=1+1, "x"'}, "gold": {"severity": ["major", "minor"]}},
        {"key": "b", "body": {"source": "s"}, "attributes": {"lang": "de"}},
        {"key": "c", "body": {}},
    ]
    upsert_items(project=project, rows=rows)
    rate(question, "a", "r1", "none")
    rate(question, "a", "r2", "critical")
    address = f"/projects/{project.pk}/items.csv"

    def read_rows(client: Any, query: str = "") -> list[list[str]]:
        response = client.get(address + query)
        assert response["Content-Disposition"].endswith('-items.csv"')
        content = b"".join(response.streaming_content).decode()
        return list(csv.reader(io.StringIO(content)))

    header, *content = read_rows(lead_client)
    assert header[:7] == [
        "item", "content", "attributes", "state", "version", "ratings", "disagreement",
    ]  # fmt: skip
    assert header[7:] == ["n: none", "n: minor", "n: major", "n: critical", "gold"]
    assert content == [
        [
            "a",
            '\'=1+1, "x"',
            "",
            "active",
            "1",
            "2",
            "1.0",
            "1",
            "0",
            "0",
            "1",
            '["minor", "major"]',
        ],
        ["b", '{"source": "s"}', '{"lang": "de"}', "active", "1", "0", "", "0", "0", "0", "0", ""],
        ["c", "", "", "empty", "1", "0", "", "0", "0", "0", "0", ""],
    ]
    assert [line[0] for line in read_rows(lead_client, "?state=active&ratings=0")] == ["item", "b"]
    assert "gold" not in read_rows(client_for(viewer))[0]


def test_gold_answer_is_set_on_the_item_page(
    lead_client: Any, project: Project, question: Any, client_for: Any, viewer: Any, lead: Any
) -> None:
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    address = reverse("item_gold", args=[project.pk, item.pk, "severity"])
    lead_client.post(address, {"code": ["2", "3"], "explanation": "See page 3."})
    gold_answer = GoldAnswer.objects.get()
    assert (gold_answer.answer, gold_answer.explanation, gold_answer.by) == (
        [2, 3],
        "See page 3.",
        lead,
    )
    page = get_text(lead_client.get(f"/projects/{project.pk}/items/a/"))
    assert "See page 3." in page
    assert page.count("checked") == 2
    assert "See page 3." not in get_text(client_for(viewer).get(f"/projects/{project.pk}/items/a/"))
    for codes in ([], ["9"]):
        lead_client.post(address, {"code": codes})
    assert GoldAnswer.objects.in_force().get() == gold_answer
    lead_client.post(address, {"action": "retire"})
    assert not GoldAnswer.objects.in_force().exists()
    gold.set_gold_answer(item=item, question=question, answer={1: 0.25, 2: 0.75}, by=lead)
    assert "75" in get_text(lead_client.get(f"/projects/{project.pk}/items/a/"))


@pytest.mark.parametrize("role", ["annotator", "viewer", "stranger"])
def test_only_leads_change_items(
    project: Project, client_for: Any, request: Any, role: str
) -> None:
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    client = client_for(request.getfixturevalue(role))
    status = 404 if role == "stranger" else 403
    for name, args in (
        ("item_new", []),
        ("item_preview", []),
        ("items_bulk", []),
        ("item_edit", [item.pk]),
        ("item_gold", [item.pk, "severity"]),
    ):
        address = reverse(name, args=[project.pk, *args])
        assert client.post(address, {"item": item.pk}).status_code == status
    item.refresh_from_db()
    assert item.withdrawn_at is None
    assert not GoldAnswer.objects.exists()
    assert not Assignment.objects.exists()


@pytest.fixture
def item_ids(project: Project, question: Any, rate: Any) -> dict[str, int]:
    """Return the ids of five items by key: raters differ much on a, little on b, and agree on c.

    Item d has one rating, e none. The last rating is that of r2 on a.
    """
    upsert_items(project=project, rows=[{"key": key, "body": {"text": key}} for key in "abcde"])
    labels_by_item = {
        "d": ["none"],
        "c": ["none", "none"],
        "b": ["minor", "none"],
        "a": ["none", "critical"],
    }
    for item, labels in labels_by_item.items():
        for number, label in enumerate(labels, start=1):
            rate(question, item, f"r{number}", label)
    return dict(Item.objects.values_list("key", "pk"))


@pytest.mark.parametrize(
    ("query", "expected_keys"),
    [
        ("?answers=differ", "ab"),
        ("?answers=same", "c"),
        ("?answer=none&other_answer=critical", "a"),
        ("?answer=critical&other_answer=critical", "a"),
        ("?answer=minor", "b"),
        ("?rater=r2", "abc"),
        ("?rater=r2&answers=same", "c"),
        ("?rater=nobody", ""),
        ("?sort=rated", "abcd"),
        ("?sort=rated&answers=differ&rater=r1", "ab"),
        ("?sort=disagreement&answer=none&other_answer=minor", "b"),
        ("?state=skipped", "e"),
    ],
)
def test_items_are_filtered_by_their_ratings(
    lead_client: Any, project: Project, item_ids: dict[str, int], query: str, expected_keys: str
) -> None:
    now = timezone.now()
    Assignment.objects.create(
        item_id=item_ids["e"],
        rater=Rater.objects.create(project=project, key="r3"),
        state="skipped",
        leased_until=now,
        closed_at=now,
    )
    assert list_item_keys(lead_client, project, query) == list(expected_keys)


def test_rater_with_many_ratings_is_searched_in_batches(
    lead_client: Any, project: Project, item_ids: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/projects/{project.pk}/items/"
    assert "Rater “x” not found." in get_text(lead_client.get(f"{address}?rater=x"))
    monkeypatch.setattr(item_rows, "ITEMS_PER_PAGE", 1)
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 2)  # r2 has three ratings
    found_keys, after = [], 0
    while after is not None:
        context = lead_client.get(f"{address}?rater=r2&after={after}").context
        found_keys += [row.item.key for row in context["rows"]]
        after = context["next_after"]
    assert found_keys == ["a", "b", "c"]


def test_item_pane_opens_next_to_the_list(
    lead_client: Any, project: Project, item_ids: dict[str, int], client_for: Any, viewer: Any
) -> None:
    """Without scripts the URL opens it; items.js requests only the pane."""
    address = f"/projects/{project.pk}/items/?answers=differ&item={item_ids['b']}"
    page = get_text(lead_client.get(address))
    assert 'id="item-list"' in page
    pane = get_text(lead_client.get(address, headers={"HX-Target": "item-pane"}))
    assert 'id="item-list"' not in pane
    for text in (
        "<strong>minor</strong>",
        "<strong>none</strong>",
        "<summary>Gold answer</summary>",
    ):
        assert text in pane
        assert text in page
    assert f'href="/projects/{project.pk}/items/?answers=differ"' in pane
    assert "gold" not in get_text(client_for(viewer).get(address)).lower()
    for invalid_id in ("999999", "x", "9" * 30):
        assert (
            lead_client.get(f"/projects/{project.pk}/items/?item={invalid_id}").status_code == 404
        )


def test_gold_filter_is_only_for_leads(
    lead_client: Any, project: Project, question: Any, client_for: Any, viewer: Any
) -> None:
    address = f"/projects/{project.pk}/items/?state=gold"
    assert lead_client.get(address).status_code == 200
    assert client_for(viewer).get(address).status_code == 404


def test_another_rating_is_requested_for_selected_items(
    lead_client: Any, project: Project, item_ids: dict[str, int], make_project: Any
) -> None:
    """Each item is assigned once more than it has ratings, and the queue respects that."""
    project.overlap = 2
    project.save()
    Item.objects.filter(key="b").update(withdrawn_at=timezone.now())
    foreign_item = Item.objects.create(project=make_project("Other"), key="f", body={"text": "f"})
    address = reverse("items_bulk", args=[project.pk])
    selected_ids = [item_ids[key] for key in "ab"] + [foreign_item.pk]
    response = lead_client.post(
        address, {"item": selected_ids, "action": "request_ratings"}, follow=True
    )
    assert "Requested one more rating for 1 item." in get_text(response)
    assert dict(Item.objects.values_list("key", "extra_slots")) == {
        **dict.fromkeys("bcdef", 0),
        "a": 1,
    }
    first_rater, second_rater = (
        Rater.objects.create(project=project, key=key) for key in ("r4", "r5")
    )
    Item.objects.exclude(key="a").update(withdrawn_at=timezone.now())
    item = queue.get_next_item(first_rater)
    assert item is not None
    assert item.key == "a"
    assert queue.get_next_item(second_rater) is None


def test_selected_items_get_a_gold_answer(
    lead_client: Any, project: Project, question: Any, item_ids: dict[str, int]
) -> None:
    address = reverse("items_bulk", args=[project.pk])
    data = {"item": [item_ids["a"], item_ids["c"]], "question": question.key, "action": "gold"}
    assert "Choose an answer." in get_text(lead_client.post(address, data, follow=True))
    assert not GoldAnswer.objects.exists()
    code = question.categories.get(label="minor").code
    response = lead_client.post(address, {**data, "code": code}, follow=True)
    assert "Gold answer set for 2 items." in get_text(response)
    gold_answers = GoldAnswer.objects.in_force().values_list("item__key", "answer")
    assert sorted(gold_answers) == [("a", [code]), ("c", [code])]
    assert lead_client.post(address, {**data, "action": "odd"}).status_code == 400

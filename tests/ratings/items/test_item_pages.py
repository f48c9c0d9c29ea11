"""Items by hand: the lead adds, edits, withdraws, restores, and says what is right."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from metrics.views.items import item_rows
from projects.models import GoldAnswer, Item, ItemVersion, Project, Rater
from projects.services.items import gold
from projects.services.items.upsert import upsert_items
from ratings.annotation.assignments import queue
from ratings.items import item_search
from ratings.models import Assignment, Rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(client_for: Any, lead: Any) -> Any:
    return client_for(lead)


def typed(key: str = "", parts: Any = (), attributes: Any = (), **others: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"key": key, **others}
    for prefix, rows in (("parts", list(parts)), ("attributes", list(attributes))):
        data[f"{prefix}-TOTAL_FORMS"] = len(rows) + 1
        data[f"{prefix}-INITIAL_FORMS"] = 0
        for number, (name, value) in enumerate([*rows, ("", "")]):
            data[f"{prefix}-{number}-name"] = name
            data[f"{prefix}-{number}-value"] = value
    return data


def text_of(response: Any) -> str:
    return response.content.decode()


def keys(desk: Any, project: Project, query: str = "") -> list[str]:
    response = desk.get(f"/projects/{project.pk}/items/{query}")
    assert response.status_code == 200
    return [row.item.key for row in response.context["rows"]]


def test_a_text_made_by_hand_is_the_first_one_that_an_annotator_reads(
    desk: Any, project: Project, client_for: Any, annotator: Any
) -> None:
    address = reverse("item_new", args=[project.pk])
    assert desk.get(address).status_code == 200
    response = desk.post(address, typed("tweet 1", [("", "Hello\r\nthere")], [("lang", "en")]))
    assert response["Location"] == f"/projects/{project.pk}/items/tweet%201/"
    item = Item.objects.get()
    assert (item.key, item.body, item.attributes) == (
        "tweet 1",
        {"text": "Hello\nthere"},
        {"lang": "en"},
    )
    assert "Hello" in text_of(client_for(annotator).get(f"/projects/{project.pk}/rate/"))


def test_several_parts_are_shown_by_name(desk: Any, project: Project) -> None:
    address = reverse("item_new", args=[project.pk])
    parts = [("source", "Guten Tag"), ("translation", "Good day")]
    preview = desk.post(reverse("item_preview", args=[project.pk]), typed("a", parts))
    assert "<dt>source</dt>" in text_of(preview)
    desk.post(address, typed("a", parts, another="on"))
    assert Item.objects.get().body == {"source": "Guten Tag", "translation": "Good day"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (typed("", [("", "x")]), "required"),
        (typed("old", [("", "x")]), "This project has an item “old” already."),
        (typed("a\nb", [("", "x")]), "one line without control characters"),
        (typed("a", []), "There is nothing to show yet"),
        (typed("a", [("", "  ")]), "There is nothing to show yet"),
        (typed("a", [("source", "x"), ("source", "y")]), "Each name stands once."),
        (typed("a", [("", "x")], [("", "value alone")]), "A name is needed."),
        (typed("a", [("", "a\x00b")]), "Null characters are not allowed"),
    ],
)
def test_what_cannot_be_an_item_is_said_and_stores_nothing(
    desk: Any, project: Project, data: Any, words: str
) -> None:
    Item.objects.create(project=project, key="old")
    response = desk.post(reverse("item_new", args=[project.pk]), data)
    assert response.status_code == 400
    assert words in text_of(response)
    assert Item.objects.count() == 1


def test_a_row_more_keeps_what_was_typed(desk: Any, project: Project) -> None:
    data = typed("a", [("source", "Guten Tag")], add_row="parts")
    response = desk.post(reverse("item_new", args=[project.pk]), data)
    assert "Guten Tag" in text_of(response)
    assert 'name="parts-2-value"' in text_of(response)
    assert not Item.objects.exists()


def test_an_edit_after_ratings_is_a_version_and_the_page_warns(
    desk: Any, project: Project, question: Any, rate: Any, lead: Any
) -> None:
    upsert_items(
        project=project,
        rows=[{"key": "a", "body": {"text": "One", "n": 5}, "attributes": {"x": 1, "y": "z"}}],
    )
    rate(question, "a", "ann", "minor")
    item = Item.objects.get()
    address = reverse("item_edit", args=[project.pk, item.pk])
    page = text_of(desk.get(address))
    assert "This item has 1 rating. Another text becomes version 2 of it" in page
    assert "Kept as they are: n." in page
    sent = typed("ignored", [("text", "Two")], [("x", "1"), ("y", "zz")], version=1)
    assert desk.post(address, sent).status_code == 302
    item.refresh_from_db()
    assert (item.key, item.version) == ("a", 2)
    assert item.body == {"text": "Two", "n": 5}
    assert item.attributes == {"x": 1, "y": "zz"}  # what was left alone keeps its kind
    assert ItemVersion.objects.get().by == lead
    rate(question, "a", "ben", "minor")
    assert list(Rating.objects.order_by("pk").values_list("item_version", flat=True)) == [1, 2]
    shown = text_of(desk.get(f"/projects/{project.pk}/items/a/"))
    assert "version 1, until" in shown
    assert shown.count("of version 1") == 1
    # who looked at the first version does not write over the second
    response = desk.post(address, sent)
    assert response.status_code == 400
    assert "Somebody else changed this item meanwhile" in text_of(response)


def test_the_ticked_items_are_withdrawn_and_restored(
    desk: Any, project: Project, make_project: Any
) -> None:
    upsert_items(
        project=project, rows=[{"key": key, "body": {"text": key}} for key in ("a", "b", "c")]
    )
    foreign = Item.objects.create(project=make_project("Other"), key="f", body={"text": "f"})
    ids = dict(Item.objects.values_list("key", "pk"))
    address = reverse("items_chosen", args=[project.pk])
    chosen = {"item": [ids["a"], ids["c"], foreign.pk, "x"], "next": "/projects/1/items/?search=q"}
    response = desk.post(address, {**chosen, "do": "withdraw"})
    assert response["Location"] == "/projects/1/items/?search=q"
    assert set(Item.objects.exclude(withdrawn_at=None).values_list("key", flat=True)) == {"a", "c"}
    assert keys(desk, project, "?state=withdrawn") == ["a", "c"]
    page = text_of(desk.get(f"/projects/{project.pk}/items/"))
    assert "2 withdrawn" in page
    desk.post(address, {"item": ids["a"], "do": "restore", "next": "https://evil.example/"})
    assert keys(desk, project, "?state=withdrawn") == ["c"]


def test_the_lead_is_told_what_waits(desk: Any, project: Project) -> None:
    upsert_items(
        project=project, rows=[{"key": "a", "body": {}}, {"key": "b", "body": {"text": "x"}}]
    )
    page = text_of(desk.get(f"/projects/{project.pk}/items/"))
    assert "1 waits for content and is not asked for" in page
    assert keys(desk, project, "?state=waiting") == ["a"]
    assert "nobody is asked for it" in text_of(desk.get(f"/projects/{project.pk}/items/a/"))


def test_the_list_is_narrowed_and_sorted(
    desk: Any, project: Project, question: Any, rate: Any
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
    said = {"a": ["none", "critical"], "b": ["minor"] * 3, "c": ["none", "minor", "minor", "none"]}
    for item, labels in said.items():
        for number, label in enumerate(labels):
            rate(question, item, f"r{number}", label)
    assert keys(desk, project) == ["a", "b", "c", "d"]
    assert keys(desk, project, "?search=apfel") == ["b", "c"]
    assert keys(desk, project, "?search=GRÜNER") == ["c"]
    assert keys(desk, project, "?attribute=lang%3Dde&ratings=0") == ["d"]
    assert keys(desk, project, "?ratings=3") == ["b"]
    assert keys(desk, project, "?sort=disagreement") == ["a", "c", "b"]
    assert keys(desk, project, "?sort=ratings") == ["c", "b", "a"]
    assert keys(desk, project, "?sort=ratings&attribute=lang%3Dde&search=apfel") == ["c", "b"]
    assert desk.get(f"/projects/{project.pk}/items/?attribute=lang").status_code == 400
    assert desk.get(f"/projects/{project.pk}/items/?sort=odd").status_code == 404


def test_the_file_has_the_items_that_fit(
    desk: Any, project: Project, question: Any, rate: Any, client_for: Any, viewer: Any
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

    def lines(client: Any, query: str = "") -> list[list[str]]:
        response = client.get(address + query)
        assert response["Content-Disposition"].endswith('-items.csv"')
        found = b"".join(response.streaming_content).decode()
        return list(csv.reader(io.StringIO(found)))

    head, *found = lines(desk)
    assert head[:7] == [
        "item", "content", "attributes", "state", "version", "ratings", "disagreement",
    ]  # fmt: skip
    assert head[7:] == ["n: none", "n: minor", "n: major", "n: critical", "gold"]
    assert found == [
        [
            "a",
            '\'=1+1, "x"',
            "",
            "asked",
            "1",
            "2",
            "1.0",
            "1",
            "0",
            "0",
            "1",
            '["minor", "major"]',
        ],
        ["b", '{"source": "s"}', '{"lang": "de"}', "asked", "1", "0", "", "0", "0", "0", "0", ""],
        ["c", "", "", "waiting", "1", "0", "", "0", "0", "0", "0", ""],
    ]
    assert [line[0] for line in lines(desk, "?state=asked&ratings=0")] == ["item", "b"]
    assert "gold" not in lines(client_for(viewer))[0]


def test_a_gold_answer_is_set_on_the_page_of_the_item(
    desk: Any, project: Project, question: Any, client_for: Any, viewer: Any, lead: Any
) -> None:
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    address = reverse("item_gold", args=[project.pk, item.pk, "severity"])
    desk.post(address, {"code": ["2", "3"], "explanation": "See page 3."})
    row = GoldAnswer.objects.get()
    assert (row.answer, row.explanation, row.by) == ([2, 3], "See page 3.", lead)
    page = text_of(desk.get(f"/projects/{project.pk}/items/a/"))
    assert "See page 3." in page
    assert page.count("checked") == 2
    assert "See page 3." not in text_of(client_for(viewer).get(f"/projects/{project.pk}/items/a/"))
    for codes in ([], ["9"]):
        desk.post(address, {"code": codes})
    assert GoldAnswer.objects.in_force().get() == row
    desk.post(address, {"do": "retire"})
    assert not GoldAnswer.objects.in_force().exists()
    gold.set_gold_answer(item=item, question=question, answer={1: 0.25, 2: 0.75}, by=lead)
    assert "75" in text_of(desk.get(f"/projects/{project.pk}/items/a/"))


@pytest.mark.parametrize("who", ["annotator", "viewer", "stranger"])
def test_only_leads_change_items(project: Project, client_for: Any, request: Any, who: str) -> None:
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    client = client_for(request.getfixturevalue(who))
    status = 404 if who == "stranger" else 403
    for name, args in (
        ("item_new", []),
        ("item_preview", []),
        ("items_chosen", []),
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
def answered(project: Project, question: Any, rate: Any) -> dict[str, int]:
    """Five items: on a the raters differ by much, on b by little, on c they agree, d has one
    rating, e none. Who rated last is r2, on a."""
    upsert_items(project=project, rows=[{"key": key, "body": {"text": key}} for key in "abcde"])
    said = {"d": ["none"], "c": ["none", "none"], "b": ["minor", "none"], "a": ["none", "critical"]}
    for item, labels in said.items():
        for number, label in enumerate(labels, start=1):
            rate(question, item, f"r{number}", label)
    return dict(Item.objects.values_list("key", "pk"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?answers=differ", "ab"),
        ("?answers=same", "c"),
        ("?said=none&and_said=critical", "a"),
        ("?said=critical&and_said=critical", "a"),
        ("?said=minor", "b"),
        ("?rater=r2", "abc"),
        ("?rater=r2&answers=same", "c"),
        ("?rater=nobody", ""),
        ("?sort=rated", "abcd"),
        ("?sort=rated&answers=differ&rater=r1", "ab"),
        ("?sort=disagreement&said=none&and_said=minor", "b"),
        ("?state=skipped", "e"),
    ],
)
def test_items_are_found_by_what_was_said_of_them(
    desk: Any, project: Project, answered: dict[str, int], query: str, found: str
) -> None:
    now = timezone.now()
    Assignment.objects.create(
        item_id=answered["e"],
        rater=Rater.objects.create(project=project, key="r3"),
        state="skipped",
        leased_until=now,
        closed_at=now,
    )
    assert keys(desk, project, query) == list(found)


def test_a_rater_of_many_ratings_is_searched_in_parts(
    desk: Any, project: Project, answered: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/projects/{project.pk}/items/"
    assert "has the key or the name “x”" in text_of(desk.get(f"{address}?rater=x"))
    monkeypatch.setattr(item_rows, "ITEMS_PER_PAGE", 1)
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 2)  # r2 has three ratings
    found, after = [], 0
    while after is not None:
        page = desk.get(f"{address}?rater=r2&after={after}").context
        found += [row.item.key for row in page["rows"]]
        after = page["next_after"]
    assert found == ["a", "b", "c"]


def test_one_item_is_open_beside_the_list(
    desk: Any, project: Project, answered: dict[str, int], client_for: Any, viewer: Any
) -> None:
    """Without scripts by its address; items.js asks for it alone."""
    address = f"/projects/{project.pk}/items/?answers=differ&item={answered['b']}"
    page = text_of(desk.get(address))
    assert 'id="item-list"' in page
    pane = text_of(desk.get(address, headers={"HX-Target": "item-pane"}))
    assert 'id="item-list"' not in pane
    for words in ("<strong>minor</strong>", "<strong>none</strong>", "Set a gold answer"):
        assert words in pane
        assert words in page
    assert f'href="/projects/{project.pk}/items/?answers=differ"' in pane
    assert "gold" not in text_of(client_for(viewer).get(address)).lower()
    for wrong in ("999999", "x", "9" * 30):
        assert desk.get(f"/projects/{project.pk}/items/?item={wrong}").status_code == 404


def test_which_items_are_gold_is_for_leads_alone(
    desk: Any, project: Project, question: Any, client_for: Any, viewer: Any
) -> None:
    address = f"/projects/{project.pk}/items/?state=gold"
    assert desk.get(address).status_code == 200
    assert client_for(viewer).get(address).status_code == 404


def test_another_rating_is_asked_of_the_ticked_items(
    desk: Any, project: Project, answered: dict[str, int], make_project: Any
) -> None:
    """Each is given out once more than it has ratings; the queue keeps it so."""
    project.overlap = 2
    project.save()
    Item.objects.filter(key="b").update(withdrawn_at=timezone.now())
    foreign = Item.objects.create(project=make_project("Other"), key="f", body={"text": "f"})
    address = reverse("items_chosen", args=[project.pk])
    ticked = [answered[key] for key in "ab"] + [foreign.pk]
    response = desk.post(address, {"item": ticked, "do": "ask"}, follow=True)
    assert "One rating more is asked of 1 item." in text_of(response)
    assert dict(Item.objects.values_list("key", "extra_places")) == {
        **dict.fromkeys("bcdef", 0),
        "a": 1,
    }
    late, later = (Rater.objects.create(project=project, key=key) for key in ("r4", "r5"))
    Item.objects.exclude(key="a").update(withdrawn_at=timezone.now())
    item = queue.get_next_item(late)
    assert item is not None
    assert item.key == "a"
    assert queue.get_next_item(later) is None


def test_the_ticked_items_get_a_gold_answer(
    desk: Any, project: Project, question: Any, answered: dict[str, int]
) -> None:
    address = reverse("items_chosen", args=[project.pk])
    ticked = {"item": [answered["a"], answered["c"]], "question": question.key, "do": "gold"}
    assert "Choose the answer" in text_of(desk.post(address, ticked, follow=True))
    assert not GoldAnswer.objects.exists()
    code = question.categories.get(label="minor").code
    response = desk.post(address, {**ticked, "code": code}, follow=True)
    assert "2 items have this gold answer now." in text_of(response)
    found = GoldAnswer.objects.in_force().values_list("item__key", "answer")
    assert sorted(found) == [("a", [code]), ("c", [code])]
    assert desk.post(address, {**ticked, "do": "odd"}).status_code == 400

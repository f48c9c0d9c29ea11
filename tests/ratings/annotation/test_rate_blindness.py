"""Non-interference: other people's ratings change no byte that an annotator receives.

Two worlds that differ only in the ratings of others must give the same responses everywhere. Every
URL of the site is requested, so a page added later is tested as well.
"""

import datetime
import itertools
import logging
import re

import pytest
import time_machine
from django.core.cache import cache
from django.db import transaction
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from projects.models import Item
from projects.services.projects import change_project
from quality.models import Alert
from ratings.annotation.assignments import queue
from ratings.models import Assignment, CheckAnswer, Rating
from ratings.services import slots

pytestmark = pytest.mark.django_db

NOW = "2026-03-02T10:00:00Z"
OTHER_RATERS = ("x", "y", "z")


def iter_urls(values, patterns=None, prefix=""):
    """Yield every URL of the URL configuration, once for each possible value of its parameters."""
    for pattern in patterns if patterns is not None else get_resolver().url_patterns:
        route = prefix + str(pattern.pattern).lstrip("^").rstrip("$")
        if isinstance(pattern, URLResolver):
            if not route.startswith("admin/"):  # annotators are not staff
                yield from iter_urls(values, pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and ".*" not in route:
            yield from iter_filled_routes(route, values)


def iter_filled_routes(route, values):
    parameter = re.search(r"<(?:\w+:)?(\w+)>", route)
    if not parameter:
        yield f"/{route}"
        return
    assert parameter[1] in values, f"add values for <{parameter[1]}> in {route} to this test"
    for value in values[parameter[1]]:
        yield from iter_filled_routes(route.replace(parameter[0], str(value), 1), values)


@pytest.fixture
def rated_project(project, question, rate, client_for, annotator, lead):
    """Return a project with three items rated by the annotator and others, and two by others only.

    The annotator has one open item and one skipped item.
    """
    change_project(project=project, by=lead, guidelines="Look twice.")
    with time_machine.travel(NOW, tick=False):
        Item.objects.bulk_create(
            Item(project=project, key=f"i{number}", body={"text": f"Text {number}"})
            for number in range(8)
        )
        for number in range(3):
            rate(question, f"i{number}", "ann", "minor", comment="mine")
        rate_by_others(question, rate, "major", "first thoughts")
        annotator_client = client_for(annotator)
        annotator_client.get(f"/projects/{project.pk}/rate/")
        open_item = Assignment.objects.get().item
        annotator_client.post(
            f"/projects/{project.pk}/rate/{open_item.pk}/skip/", {"reason": "unclear"}
        )
        annotator_client.get(f"/projects/{project.pk}/rate/")
    return project


def rate_by_others(question, rate, label, comment):
    """Store ratings of the other raters, always of the same items: the same slots are taken."""
    for number in (0, 1, 2, 5):
        for rater in OTHER_RATERS[:2]:
            rate(question, f"i{number}", rater, label, comment=f"{comment} of {rater}")
    for rater in OTHER_RATERS:
        rate(question, "i6", rater, label)
    update_question(question.pk)


def _get_or_create_alert(question):
    """Return an alert about another rater, which only leads may see."""
    today = datetime.date(2026, 3, 2)
    alert, _is_new = Alert.objects.get_or_create(
        question=question,
        rater=question.project.raters.get(key="x"),
        kind="rater_drift",
        measure="bias",
        since=today,
        defaults={
            "since_earliest": today,
            "since_latest": today,
            "detected_on": today,
            "created_at": NOW,
            "size": -0.5,
            "low": -0.7,
            "high": -0.3,
            "n": 50,
            "n_before": 50,
            "evidence": 6000.0,
        },
    )
    return alert


def request_all_urls(client, project, question, keys=("i0", "i3", "i4", "i6")):
    """Return URL -> (status, headers, body), without values that are random in each response."""
    items = [project.items.get(key=key).pk for key in keys]
    values = {
        "project_id": [project.pk],
        "question_id": [question.pk],
        "question_key": [question.key],
        "item_id": items,
        "rater_id": [project.raters.get(key="x").pk],
        "member_id": [project.members.get(role="lead").pk],
        "offer_id": [1],
        "run_id": [1],
        "token_id": [1],
        "pk": [1],
        "provider_id": ["oidc"],
        "session_id": [1],
        "key": ["i0", "ann", "x"],
        "item_key": ["i0"],
        "kind": ["csv", "card"],
        "rater_key": ["ann", "x"],
        "name": ["trend"],
        "form": ["json"],
        "file_format": ["json"],
        "uidb64": ["MQ"],
        "uidb36": ["1"],
        "token": ["x"],
        "number": [1],
        "place": [0],
        "alert_id": [_get_or_create_alert(question).pk],
        "appeal_id": [1],
        "approval_id": [1],
        "message_id": [1],
        "intervention_id": [1],
        "export_id": [1],
        "view_id": [1],
        "link_id": [1],
        "secret": ["x"],
        "digest": ["0"],
        "webhook_id": [1],
        "connection_id": [1],
        "delivery_id": [1],
        "gate_name": ["release"],
    }
    urls = [
        *iter_urls(values),
        *(f"/projects/{project.pk}/rate/next/?showing={item}" for item in items),
    ]
    urls += [
        f"/api/v1/projects/{project.pk}/ratings/?{query}"
        for query in ("rater=x", "item=i0", "question=severity")
    ]
    responses = {}
    for url in urls:
        cache.clear()
        responses[url] = _get_comparable_response(client.get(url))
    return responses


def _get_comparable_response(response):
    body = b"".join(response.streaming_content) if response.streaming else response.content
    text = re.sub(rb'(csrfmiddlewaretoken" value=")\w+', rb"\1", body)
    headers = {name: value for name, value in response.headers.items() if name != "X-Request-ID"}
    return response.status_code, headers, text


@pytest.fixture(autouse=True)
def disable_logging():
    """Disable logging: these tests cause hundreds of expected refusals."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def test_ratings_of_others_change_no_response_to_an_annotator(
    rated_project, question, rate, client_for, annotator
):
    client = client_for(annotator)
    with time_machine.travel(NOW, tick=False):
        before = request_all_urls(client, rated_project, question)
    with time_machine.travel("2026-03-02T09:00:00Z", tick=False):
        rate_by_others(question, rate, "critical", "second thoughts")
    with time_machine.travel(NOW, tick=False):
        after = request_all_urls(client, rated_project, question)
    assert Rating.objects.filter(comment__startswith="second").count() == 8
    assert [url for url in before if before[url] != after.get(url)] == []
    for url, (_, _, text) in before.items():
        assert b"first thoughts" not in text, url
    served_urls = [url for url, (status, _, _) in before.items() if status == 200]
    assert f"/projects/{rated_project.pk}/rate/" in served_urls
    assert f"/projects/{rated_project.pk}/my-ratings/" in served_urls
    assert f"/projects/{rated_project.pk}/guidelines/1/" in served_urls
    assert f"/api/v1/projects/{rated_project.pk}/ratings/" in served_urls


def test_ratings_of_others_change_responses_to_a_lead(
    rated_project, question, rate, client_for, lead
):
    """Prove that the two worlds differ: responses to a lead do."""
    client = client_for(lead)
    url = f"/api/v1/projects/{rated_project.pk}/ratings/"
    with time_machine.travel(NOW, tick=False):
        before = client.get(url).content
        rate_by_others(question, rate, "critical", "second thoughts")
        assert client.get(url).content != before


# --- checks of raters: hidden gold and repeats


def simulate_day(client, project, question, items, check_kind):
    """Simulate a rater's day with these items, which are all checks, or none is.

    Return the response to every step, and to every URL after it.
    """
    keys = list(items)
    rater = project.raters.get(key="ann")
    api = {"content_type": "application/json"}
    responses: dict[str, tuple[int, dict[str, str], bytes]] = {}
    cache.clear()
    with time_machine.travel("2026-03-02T10:01:00Z", tick=False) as clock:
        for item in items.values():
            until = timezone.now() + datetime.timedelta(minutes=30)
            Assignment.objects.create(item=item, rater=rater, kind=check_kind, leased_until=until)
            slots.recount_slots([item.pk])

        def post_step(action, key, **fields):
            clock.shift(datetime.timedelta(seconds=40))
            url = f"/projects/{project.pk}/rate/{items[key].pk}/{action}"
            response = client.post(url, fields, headers={"X-Annotation": "sheet"})
            responses[f"{len(responses)} {url}"] = _get_comparable_response(response)

        def post_rating(key, code, **fields):
            post_step("", key, **{f"question-{question.pk}": code}, **fields)

        post_rating("n1", 2, comment="mine", answer_version="")
        post_rating("n2", 1)
        post_rating("n2", 3)
        post_rating("n2", 0, answer_version="")  # from an older page
        post_step("skip/", "n3", reason="unclear")
        post_step("skip/", "n1", reason="too late")
        post_rating("n4", 1, flagged="on")
        clock.shift(datetime.timedelta(seconds=40))
        undo_url = f"/projects/{project.pk}/rate/undo/"
        responses["undo"] = _get_comparable_response(
            client.post(undo_url, {}, headers={"X-Annotation": "sheet"})
        )
        Assignment.objects.filter(item=items["n5"]).update(leased_until="2026-03-01T00:00Z")
        queue.release_expired_assignments()
        data = {"item": "n5", "answers": {"severity": "minor"}}
        url = f"/api/v1/projects/{project.pk}/next/"
        responses["api"] = _get_comparable_response(client.post(url, data, **api))
        clock.shift(datetime.timedelta(seconds=40))
        history = f"/api/v1/projects/{project.pk}/ratings/history/"
        for key in keys:
            url = f"{history}?item={key}&rater=ann"
            responses[url] = _get_comparable_response(client.get(url))
        update_question(question.pk)  # /healthz tells everybody how much is not counted yet
        responses |= request_all_urls(client, project, question, keys)
    return responses


def test_hidden_gold_cannot_be_distinguished_from_other_items(
    rated_project, question, client_for, annotator
):
    client = client_for(annotator)
    items = {
        key: Item.objects.create(project=rated_project, key=key, body={"text": key})
        for key in ("n0", "n1", "n2", "n3", "n4", "n5")
    }
    _get_or_create_alert(question)
    responses = {}
    for check_kind in ("", "gold"):
        with transaction.atomic():
            responses[check_kind] = simulate_day(client, rated_project, question, items, check_kind)
            n_check_answers = CheckAnswer.objects.count()
            assert n_check_answers == (6 if check_kind else 0)
            transaction.set_rollback(True)
    assert [url for url in responses[""] if responses[""][url] != responses["gold"][url]] == []
    assert responses[""]["undo"][0] == 200
    assert responses[""]["api"][0] == 200
    assert b'"label":"major"' in responses[""][f"/api/v1/projects/{rated_project.pk}/ratings/"][2]


def test_repeat_cannot_be_distinguished_from_a_new_item(
    rated_project, question, rate, client_for, annotator
):
    """In one world the rater rated six other items long ago, in the other world these six.

    The other six have all their ratings, so they are still to come in neither world.
    """
    client = client_for(annotator)
    keys = [f"n{number}" for number in range(6)]
    other_keys = [f"p{number}" for number in range(6)]
    recent_keys = [f"f{number}" for number in range(10)]
    items = {
        key: Item.objects.create(project=rated_project, key=key, body={"text": key})
        for key in (*keys, *other_keys, *recent_keys)
    }
    day_items = {key: items[key] for key in keys}
    with time_machine.travel("2026-01-02T10:00:00Z", tick=False):
        for key, other_rater in itertools.product(other_keys, OTHER_RATERS):
            rate(question, key, other_rater, "major")
    _get_or_create_alert(question)
    responses = {}
    for check_kind, earlier_keys in (("", other_keys), ("repeat", keys)):
        with transaction.atomic():
            with time_machine.travel("2026-02-01T10:00:00Z", tick=False):
                for key in earlier_keys:
                    rate(question, key, "ann", "critical")
            with time_machine.travel("2026-03-02T09:00:00Z", tick=False):
                for key in recent_keys:
                    rate(question, key, "ann", "minor")
            responses[check_kind] = simulate_day(
                client, rated_project, question, day_items, check_kind
            )
            assert CheckAnswer.objects.count() == (6 if check_kind else 0)
            transaction.set_rollback(True)
    list_urls = (
        f"/projects/{rated_project.pk}/my-ratings/",
        f"/api/v1/projects/{rated_project.pk}/ratings/",
    )
    different_urls = [
        url for url in responses[""] if responses[""][url] != responses["repeat"].get(url)
    ]
    assert [url for url in different_urls if url.split("?")[0] not in list_urls] == []
    # The lists contain an item once, with the last answer.
    for url in list_urls:
        new_body, repeat_body = (responses[check_kind][url][2] for check_kind in responses)
        assert b"n0" not in repeat_body, url
        assert repeat_body.count(b"n1") == new_body.count(b"n1") > 0, url

"""Non-interference: two worlds that differ only in what others said give an annotator the same
bytes everywhere.

Every address of the site is asked, whatever it is: a page added later is in this test by itself.
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
from quality.models import Alarm
from ratings.annotation.assignments import queue
from ratings.models import Apart, Assignment, Rating
from ratings.services import slots

pytestmark = pytest.mark.django_db

NOW = "2026-03-02T10:00:00Z"
OTHERS = ("x", "y", "z")


def addresses(values, patterns=None, prefix=""):
    """Every address of the URL configuration, its parameters filled in: one for each value that may
    stand there."""
    for pattern in patterns if patterns is not None else get_resolver().url_patterns:
        route = prefix + str(pattern.pattern).lstrip("^").rstrip("$")
        if isinstance(pattern, URLResolver):
            if not route.startswith("admin/"):  # an annotator is no member of staff
                yield from addresses(values, pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and ".*" not in route:
            yield from filled(route, values)


def filled(route, values):
    found = re.search(r"<(?:\w+:)?(\w+)>", route)
    if not found:
        yield f"/{route}"
        return
    assert found[1] in values, f"say in this test what may stand for <{found[1]}> in {route}"
    for value in values[found[1]]:
        yield from filled(route.replace(found[0], str(value), 1), values)


@pytest.fixture
def world(project, question, rate, client_for, annotator, lead):
    """Three items rated by the annotator and others, two by others alone; the annotator has one
    open, one skipped."""
    change_project(project=project, by=lead, guidelines="Look twice.")
    with time_machine.travel(NOW, tick=False):
        Item.objects.bulk_create(
            Item(project=project, key=f"i{number}", body={"text": f"Text {number}"})
            for number in range(8)
        )
        for number in range(3):
            rate(question, f"i{number}", "ann", "minor", comment="mine")
        say(question, rate, "major", "first thoughts")
        desk = client_for(annotator)
        desk.get(f"/projects/{project.pk}/rate/")
        opened = Assignment.objects.get().item
        desk.post(f"/projects/{project.pk}/rate/{opened.pk}/skip/", {"reason": "unclear"})
        desk.get(f"/projects/{project.pk}/rate/")
    return project


def say(question, rate, label, comment):
    """What the others say: the same items, so the same places."""
    for number in (0, 1, 2, 5):
        for rater in OTHERS[:2]:
            rate(question, f"i{number}", rater, label, comment=f"{comment} of {rater}")
    for rater in OTHERS:
        rate(question, "i6", rater, label)
    update_question(question.pk)


def _alarm(question):
    """A case about somebody else, for leads' eyes."""
    today = datetime.date(2026, 3, 2)
    found, _new = Alarm.objects.get_or_create(
        question=question,
        rater=question.project.raters.get(key="x"),
        kind="rater_drift",
        measure="bias",
        since=today,
        defaults={
            "since_earliest": today,
            "since_latest": today,
            "noticed": today,
            "raised_at": NOW,
            "size": -0.5,
            "low": -0.7,
            "high": -0.3,
            "n": 50,
            "n_before": 50,
            "evidence": 6000.0,
        },
    )
    return found


def everything(client, project, question, keys=("i0", "i3", "i4", "i6")):
    """address -> (status, headers, body), with what is drawn at random for each answer masked."""
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
        "uidb64": ["MQ"],
        "uidb36": ["1"],
        "token": ["x"],
        "number": [1],
        "place": [0],
        "alarm_id": [_alarm(question).pk],
        "appeal_id": [1],
        "message_id": [1],
        "act_id": [1],
        "view_id": [1],
        "link_id": [1],
        "secret": ["x"],
        "digest": ["0"],
    }
    asked = [
        *addresses(values),
        *(f"/projects/{project.pk}/rate/next/?showing={item}" for item in items),
    ]
    asked += [
        f"/api/v1/projects/{project.pk}/ratings/?{query}"
        for query in ("rater=x", "item=i0", "question=severity")
    ]
    answers = {}
    for address in asked:
        cache.clear()
        answers[address] = _told(client.get(address))
    return answers


def _told(response):
    body = b"".join(response.streaming_content) if response.streaming else response.content
    text = re.sub(rb'(csrfmiddlewaretoken" value=")\w+', rb"\1", body)
    headers = {name: value for name, value in response.headers.items() if name != "X-Request-ID"}
    return response.status_code, headers, text


@pytest.fixture(autouse=True)
def quiet():
    """Hundreds of refusals are meant here: they need not be written down."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def test_what_others_say_reaches_no_answer_to_an_annotator(
    world, question, rate, client_for, annotator
):
    client = client_for(annotator)
    with time_machine.travel(NOW, tick=False):
        before = everything(client, world, question)
    with time_machine.travel("2026-03-02T09:00:00Z", tick=False):
        say(question, rate, "critical", "second thoughts")
    with time_machine.travel(NOW, tick=False):
        after = everything(client, world, question)
    assert Rating.objects.filter(comment__startswith="second").count() == 8
    assert [address for address in before if before[address] != after.get(address)] == []
    served = [address for address, (status, _, _) in before.items() if status == 200]
    assert f"/projects/{world.pk}/rate/" in served
    assert f"/projects/{world.pk}/my-ratings/" in served
    assert f"/projects/{world.pk}/guidelines/1/" in served
    assert f"/api/v1/projects/{world.pk}/ratings/" in served


def test_nothing_of_others_stands_in_any_answer(world, question, client_for, annotator):
    answers = everything(client_for(annotator), world, question)
    for address, (_, _, text) in answers.items():
        assert b"first thoughts" not in text, address


def test_the_test_sees_a_lead_told_of_others(world, question, rate, client_for, lead):
    """Proof that the two worlds differ: a lead's answers do."""
    client = client_for(lead)
    address = f"/api/v1/projects/{world.pk}/ratings/"
    with time_machine.travel(NOW, tick=False):
        before = client.get(address).content
        say(question, rate, "critical", "second thoughts")
        assert client.get(address).content != before


# --- what tests a rater


def a_day(client, project, question, items, why):
    """A rater's day with these items, which all test them, or none does: what every step answers,
    and every address after it."""
    keys = list(items)
    rater = project.raters.get(key="ann")
    api = {"content_type": "application/json"}
    answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
    cache.clear()
    with time_machine.travel("2026-03-02T10:01:00Z", tick=False) as clock:
        for item in items.values():
            until = timezone.now() + datetime.timedelta(minutes=30)
            Assignment.objects.create(item=item, rater=rater, why=why, leased_until=until)
            slots.recount([item.pk])

        def step(what, key, **sent):
            clock.shift(datetime.timedelta(seconds=40))
            address = f"/projects/{project.pk}/rate/{items[key].pk}/{what}"
            response = client.post(address, sent, headers={"X-Desk": "sheet"})
            answers[f"{len(answers)} {address}"] = _told(response)

        def rated(key, code, **more):
            step("", key, **{f"question-{question.pk}": code}, **more)

        rated("n1", 2, comment="mine", said="")
        rated("n2", 1)
        rated("n2", 3)
        rated("n2", 0, said="")  # from an older page
        step("skip/", "n3", reason="unclear")
        step("skip/", "n1", reason="too late")
        rated("n4", 1, flagged="on")
        clock.shift(datetime.timedelta(seconds=40))
        last = f"/projects/{project.pk}/rate/last/"
        answers["undo"] = _told(client.post(last, {}, headers={"X-Desk": "sheet"}))
        Assignment.objects.filter(item=items["n5"]).update(leased_until="2026-03-01T00:00Z")
        queue.release_expired()
        said = {"item": "n5", "answers": {"severity": "minor"}}
        address = f"/api/v1/projects/{project.pk}/next/"
        answers["api"] = _told(client.post(address, said, **api))
        clock.shift(datetime.timedelta(seconds=40))
        history = f"/api/v1/projects/{project.pk}/ratings/history/"
        for key in keys:
            address = f"{history}?item={key}&rater=ann"
            answers[address] = _told(client.get(address))
        update_question(question.pk)  # /healthz tells everybody how much is not counted yet
        answers |= everything(client, project, question, keys)
    return answers


def test_hidden_gold_is_told_from_no_other_item(world, question, client_for, annotator):
    client = client_for(annotator)
    items = {
        key: Item.objects.create(project=world, key=key, body={"text": key})
        for key in ("n0", "n1", "n2", "n3", "n4", "n5")
    }
    _alarm(question)
    told = {}
    for why in ("", "gold"):
        with transaction.atomic():
            told[why] = a_day(client, world, question, items, why)
            apart = Apart.objects.count()
            assert apart == (6 if why else 0)
            transaction.set_rollback(True)
    assert [address for address in told[""] if told[""][address] != told["gold"][address]] == []
    assert told[""]["undo"][0] == 200
    assert told[""]["api"][0] == 200
    assert b'"label":"major"' in told[""][f"/api/v1/projects/{world.pk}/ratings/"][2]


def test_an_item_that_is_asked_again_is_told_from_no_new_one(
    world, question, rate, client_for, annotator
):
    """One world in which the rater rated other six items long ago, and one in which these six.
    Those others have all their ratings: so in neither world they are still to come."""
    client = client_for(annotator)
    keys = [f"n{number}" for number in range(6)]
    others = [f"p{number}" for number in range(6)]
    since = [f"f{number}" for number in range(10)]
    items = {
        key: Item.objects.create(project=world, key=key, body={"text": key})
        for key in (*keys, *others, *since)
    }
    asked = {key: items[key] for key in keys}
    with time_machine.travel("2026-01-02T10:00:00Z", tick=False):
        for key, other in itertools.product(others, OTHERS):
            rate(question, key, other, "major")
    _alarm(question)
    told = {}
    for why, before in (("", others), ("repeat", keys)):
        with transaction.atomic():
            with time_machine.travel("2026-02-01T10:00:00Z", tick=False):
                for key in before:
                    rate(question, key, "ann", "critical")
            with time_machine.travel("2026-03-02T09:00:00Z", tick=False):
                for key in since:
                    rate(question, key, "ann", "minor")
            told[why] = a_day(client, world, question, asked, why)
            assert Apart.objects.count() == (6 if why else 0)
            transaction.set_rollback(True)
    listing = (f"/projects/{world.pk}/my-ratings/", f"/api/v1/projects/{world.pk}/ratings/")
    different = [
        address for address in told[""] if told[""][address] != told["repeat"].get(address)
    ]
    assert [address for address in different if address.split("?")[0] not in listing] == []
    # The lists name an item once, with what was said last.
    for address in listing:
        new, again = (told[why][address][2] for why in told)
        assert b"n0" not in again, address
        assert again.count(b"n1") == new.count(b"n1") > 0, address

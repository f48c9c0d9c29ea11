"""Kill web servers and workers while everything that leaves the site is on its way.

    make drill-connections                        # 200 kills on each database
    DRILL_KILLS=40 DRILL_SEED=4711 make drill-connections

Clients rate, decide on labels and invite people, each POST with an Idempotency-Key until it is
answered; others read the feed of events and the export of a finished project. Events arrive at a
receiver that verifies signatures with a public library, mails at a mail server. At the end ratings,
decisions, accounts, events, webhooks, mails and exports are compared: nothing may be missing, and
nothing may exist twice. Only a message that was on its way when its worker was killed may arrive
twice, with the same webhook-id or Message-ID.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import random
import secrets
import sys
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agreement_site.notifications.news import MAX_INVITATIONS_A_DAY
from tests.agreement_site.notifications.smtp_servers import SmtpServer, start_smtp_server
from tests.agreement_site.server.conftest import wait_for
from tests.drills.history import compare_history
from tests.drills.site import LABELS, DrillSite, RatingClients, run_site
from tests.events.webhooks.receivers import Receiver, start_receiver

KILLS = int(os.environ.get("DRILL_KILLS", "200"))
SEED = int(os.environ.get("DRILL_SEED") or secrets.randbelow(10**6))
ITEMS = 200
MAX_UP_SECONDS = 1.5  # between the moment at which a service is up again and its next end
# A killed worker's mails are free after five minutes; their next attempt follows.
SETTLE_SECONDS = 1200

pytestmark = [pytest.mark.drill, pytest.mark.timeout(2 * SETTLE_SECONDS + 30 * KILLS)]

READ_STORED_ROWS = """
import json, django
django.setup()
from django.contrib.auth.models import User
from agreement_site.models import QueuedMail
from events.models import Delivery
from quality.models import Decision
print(json.dumps({
    "decisions": list(Decision.objects.values_list("item__key", "number", "reason")),
    "accounts": list(User.objects.filter(username__startswith="person").values_list("username", flat=True)),
    "pending_mails": QueuedMail.objects.filter(state="pending").count(),
    "failed_mails": QueuedMail.objects.filter(state="failed").count(),
    "deliveries": list(Delivery.objects.order_by("event__number").values_list("event__number", "state")),
}))
"""


class ConnectedSite:
    """A site with a mail server and a receiver of webhooks, and what it answered to its clients."""

    def __init__(self, site: DrillSite, receiver: Receiver, smtp_server: SmtpServer) -> None:
        self.site, self.receiver, self.smtp_server = site, receiver, smtp_server
        self.is_stopping = False
        self.failed_requests: Counter[str] = Counter()
        self.decision_reasons: list[str] = []
        self.usernames: list[str] = []
        self.followed_ids: list[int] = []
        self.n_exports = 0
        self.errors: list[str] = []

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> bytes | None:
        """Return the body of the response; None if it may be that of a killed process.

        That is a broken connection, a status from 500 on, or 409. Other statuses from 300 on are
        noted in ``errors``.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=30)
        headers |= {"Authorization": f"Bearer {self.site.token}"}
        headers |= {"Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.failed_requests[type(error).__name__] += 1
            return None
        finally:
            connection.close()
        if response.status >= 500 or response.status == 409:
            self.failed_requests[str(response.status)] += 1
            return None
        if response.status >= 300:
            self.errors.append(f"{method} {path}: {response.status} {content[:300]!r}")
        return content

    def post_once(self, path: str, body: Any) -> Any:
        """Send a POST until it is answered, with one Idempotency-Key."""
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        while (content := self.send("POST", path, body, **headers)) is None:
            time.sleep(0.1)
        return json.loads(content)

    # --- clients, each in a thread of its own until the drill stops

    def decide_on_labels(self) -> None:
        rng = random.Random(SEED)
        while not self.is_stopping:
            reason = str(uuid.uuid4())
            item = f"item {rng.randrange(ITEMS)}"
            body = {"item": item, "label": rng.choice(LABELS), "reason": reason}
            response = self.post_once(self.site.build_path("labels"), body)
            self.decision_reasons.append(reason)
            if response.get("reason") != reason:
                self.errors.append(f"another response: {response}")
            time.sleep(0.1)

    def invite_people(self) -> None:
        while not self.is_stopping:
            username = f"person{len(self.usernames)}"
            body = {"username": username, "account": "new", "email": f"{username}@example.org"}
            response = self.post_once(self.site.build_path("invitations"), body)
            self.usernames.append(username)
            if "/invitations/" not in str(response.get("link")):
                self.errors.append(f"no link: {response}")
            time.sleep(1)

    def follow_events(self) -> None:
        while not self.is_stopping:
            after = self.followed_ids[-1] if self.followed_ids else 0
            content = self.send("GET", f"/api/v1/events/?after={after}&limit=50")
            if content is not None:
                self.followed_ids += [event["id"] for event in json.loads(content)["results"]]
            time.sleep(0.1)

    def read_exports(self, path: str, expected: bytes) -> None:
        while not self.is_stopping:
            content = self.send("GET", path)
            self.n_exports += content is not None
            if content not in (None, expected):
                self.errors.append(f"an export of {len(content or b'')} bytes is no error")
            time.sleep(0.1)

    def read_stored_rows(self) -> dict[str, Any]:
        rows: dict[str, Any] = json.loads(self.site.run_python("-c", READ_STORED_ROWS))
        return rows

    def is_everything_sent(self) -> bool:
        rows = self.read_stored_rows()
        is_sent = all(state != "pending" for _number, state in rows["deliveries"])
        time.sleep(0 if is_sent and not rows["pending_mails"] else 2)
        return is_sent and not rows["pending_mails"]


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def connected_site(request: pytest.FixtureRequest) -> Iterator[ConnectedSite]:
    logging.getLogger("mail.log").setLevel(logging.WARNING)  # of aiosmtpd: a line for each command
    with start_receiver() as receiver, start_smtp_server() as smtp_server:
        settings: dict[str, Any] = {
            "WEBHOOKS_TO_PRIVATE_NETWORKS": "1",
            "SMTP_URL": f"smtp://127.0.0.1:{smtp_server.port}",
            "SMTP_TLS": "0",
            "MAIL_FROM": "concord@example.org",
        }
        with run_site(postgres=request.param == "PostgreSQL", **settings) as site:
            yield ConnectedSite(site, receiver, smtp_server)


def create_finished_project(connected: ConnectedSite) -> tuple[str, bytes]:
    """Create a project that nobody changes; return the path of its export, and the file."""
    site = connected.site
    keys = site.create_project(raters=["ann", "ben"], items=ITEMS)
    rows = [
        {"item": key, "rater": rater, "label": LABELS[(index + shift) % 4], "comment": "c" * 500}
        for index, key in enumerate(keys)
        for shift, rater in enumerate(("ann", "ben"))
    ]
    site.call_api("POST", site.build_path("ratings"), rows)
    path = site.build_path("export") + "?format=jsonl"
    content = connected.send("GET", path)
    assert content is not None
    assert len(content.splitlines()) == len(rows)
    return path, content


def kill_processes(site: DrillSite) -> Counter[str]:
    """Kill web processes and workers in turn, each at a random moment after it was up again."""
    rng, kills = random.Random(SEED), Counter[str]()
    words: dict[str, Callable[[], bool]] = {
        "web_server": lambda: site.get_health()[0] == 200,
        "celery": site.is_worker_listening,
    }
    while sum(kills.values()) < KILLS:
        for word, is_up in words.items():
            wait_for(is_up, f"{word} after {kills}", timeout=120)
            time.sleep(rng.uniform(0, MAX_UP_SECONDS))
            kills[site.kill_process(word, rng)] += 1
    return kills


def test_nothing_is_lost_or_doubled(
    connected_site: ConnectedSite, capsys: pytest.CaptureFixture[str]
) -> None:
    connected, site = connected_site, connected_site.site
    site.token = site.run_manage("create_token", "lead").strip()
    webhook = connected.post_once("/api/v1/webhooks/", {"url": connected.receiver.url})
    connected.receiver.secret = webhook["secret"]
    export_path, export = create_finished_project(connected)
    raters = ["client0", "client1"]
    items = site.create_project(raters=raters, items=ITEMS)
    clients = RatingClients(site, raters=raters, items=items)
    threads = [
        threading.Thread(target=target, args=arguments)
        for target, arguments in (
            (connected.decide_on_labels, ()),
            (connected.invite_people, ()),
            (connected.follow_events, ()),
            (connected.read_exports, (export_path, export)),
        )
    ]
    clients.start(SEED)
    for thread in threads:
        thread.start()
    try:
        kills = kill_processes(site)
    finally:
        connected.is_stopping = True
        clients.stop()
        for thread in threads:
            thread.join()
    wait_for(site.is_quiet, "everything to be counted", timeout=SETTLE_SECONDS)
    wait_for(connected.is_everything_sent, "everything to be sent", timeout=SETTLE_SECONDS)

    assert connected.errors == []
    history = clients.read_history()
    stored_ratings = site.read_ratings("--counts")
    own_ratings = {key: row for key, row in stored_ratings.items() if key[1] in raters}
    assert not compare_history(history, own_ratings).problems
    site.run_manage("audit")
    rows = connected.read_stored_rows()
    check_decisions(connected, rows)
    events = check_events(connected, rows)
    check_mails(connected, rows)
    repeated = len(connected.receiver.ids) - len(set(connected.receiver.ids))
    repeated_mails = len(connected.smtp_server.messages) - min(
        len(connected.usernames), MAX_INVITATIONS_A_DAY
    )
    with capsys.disabled():
        sys.stdout.write(
            f"\n{site.database}, seed {SEED}: {dict(kills)}; {history.count_outcomes()['ok']}"
            f" requests with ratings, {len(connected.decision_reasons)} decisions,"
            f" {len(connected.usernames)} invitations, {len(events)} events,"
            f" {len(connected.receiver.ids)} webhooks ({repeated} sent again),"
            f" {len(connected.smtp_server.messages)} mails ({repeated_mails} sent again),"
            f" {connected.n_exports} exports; requests cut: {dict(connected.failed_requests)}\n"
        )


def check_decisions(connected: ConnectedSite, rows: dict[str, Any]) -> None:
    """Assert that each acknowledged decision and account exists once, and no other."""
    assert sorted(reason for _item, _number, reason in rows["decisions"]) == sorted(
        connected.decision_reasons
    )
    numbers = defaultdict(list)
    for item, number, _reason in rows["decisions"]:
        numbers[item].append(number)
    assert all(sorted(row) == list(range(1, len(row) + 1)) for row in numbers.values())
    assert sorted(rows["accounts"]) == sorted(connected.usernames)


def check_events(connected: ConnectedSite, rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Assert that feed, followed feed and webhooks have the same events, and return these."""
    events: list[dict[str, Any]] = []
    while page := connected.site.call_api(
        "GET", f"/api/v1/events/?limit=1000&after={events[-1]['id'] if events else 0}"
    )["results"]:
        events += page
    ids = [event["id"] for event in events]
    assert ids == list(range(1, len(ids) + 1))
    assert connected.followed_ids == ids[: len(connected.followed_ids)]
    reviewed = [event["data"] for event in events if event["kind"] == "item.reviewed"]
    assert sorted((data["items"][0], data["decision"]) for data in reviewed) == sorted(
        (item, number) for item, number, _reason in rows["decisions"]
    )
    assert rows["deliveries"] == [[number, "delivered"] for number in ids]
    messages: dict[int, Any] = {}
    for message_id, message in connected.receiver.messages:
        assert messages.setdefault(int(message_id), message) == message
    assert sorted(messages) == ids
    for event in events:
        message = messages[event["id"]]
        assert message["type"] == event["kind"]
        assert message["data"] == {
            "id": event["id"], "project": event["project"], **event["data"]
        }  # fmt: skip
    return events


def check_mails(connected: ConnectedSite, rows: dict[str, Any]) -> None:
    """Assert that each invitation was mailed, and a second time only as the same message.

    Those beyond a day's limit have links alone.
    """
    mailed = connected.usernames[:MAX_INVITATIONS_A_DAY]
    assert rows["failed_mails"] == 0
    message_ids = defaultdict(list)
    for message in connected.smtp_server.messages:
        message_ids[message["To"]].append(message["Message-ID"])
    assert sorted(message_ids) == sorted(f"{name}@example.org" for name in mailed)
    assert all(len(row) <= 2 and len(set(row)) == 1 for row in message_ids.values())

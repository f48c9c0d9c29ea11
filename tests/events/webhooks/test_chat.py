"""Messages in chats: the bodies that the services document, signatures, and answers that refuse."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from events import feed
from events.kinds import KINDS
from events.models import Delivery, Event, Webhook
from events.services import record_event
from events.webhooks import chat, outbox, services
from tests.events.webhooks.receivers import Receiver, answer

pytestmark = pytest.mark.django_db

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
SECRET = "SEC0123456789"
# Names that would be markup, mentions or links in some chat.
ODD = "<!channel> *all* <@U1> [x](https://evil.example) @all & <b>"
ALERT = {
    "alert": 7,
    "question": "severity",
    "rater": ODD,
    "size": 0.254,
    "low": 0.1,
    "high": None,
    "since": "2026-02-20",
    "evidence": 12.5,
}
LINES = [
    "Question: severity",
    f"Rater: {ODD[:59]}…" if len(ODD) > 60 else f"Rater: {ODD}",
    "Size: 0.25 (between 0.10 and –); since 2026-02-20",
]


def make_event(project: Any, kind: str = "alert.opened", **data: Any) -> Event:
    with transaction.atomic():
        subject = "rater/1" if KINDS[kind].is_mailed_to_rater else ""
        event = record_event(project_id=project.pk, kind=kind, subject=subject, data=data or ALERT)
    feed.publish_events()
    return Event.objects.select_related("project").get(pk=event.pk)


def deliver(receiver: Receiver, project: Any, format: str, **fields: Any) -> tuple[str, Any]:
    """Send an alert to a chat of this format; return the requested path and the body."""
    paths: list[str] = []

    def respond(handler: Any, body: bytes) -> None:
        paths.append(handler.path)
        answer(handler, 200, b'{"errcode": 0, "code": 0}')

    receiver.respond = respond
    webhook, secret = services.create_webhook(
        project=project, url=f"{receiver.url}?key=k", kinds=[], format=format, by=None, **fields
    )
    assert secret == ""
    make_event(project)
    assert outbox.deliver_to_webhook(webhook.pk) == 1
    assert webhook.deliveries.get().state == Delivery.State.DELIVERED
    [path] = paths
    return path, json.loads(receiver.bodies[-1])


def test_bodies_are_those_of_the_services(receiver: Receiver, project: Any, settings: Any) -> None:
    settings.SITE_URL = "https://concord.example.org"
    url = f"https://concord.example.org/projects/{project.pk}/alerts/7/"
    path, body = deliver(receiver, project, "slack")
    assert path == "/hook?key=k"
    assert body == {
        "text": "Reviews: New alert",
        "blocks": [
            {
                "type": "header",
                "text": {"type": "plain_text", "text": "Reviews: New alert", "emoji": False},
            },
            {
                "type": "section",
                "text": {"type": "plain_text", "text": "\n".join(LINES), "emoji": False},
            },
            {"type": "section", "text": {"type": "mrkdwn", "text": f"<{url}|Open in Concord>"}},
        ],
    }
    Webhook.objects.all().delete()
    _path, body = deliver(receiver, project, "teams")
    [attachment] = body["attachments"]
    card = attachment["content"]
    assert body["type"] == "message"
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert [block["inlines"][0]["text"] for block in card["body"]] == ["Reviews: New alert", *LINES]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open in Concord", "url": url}]
    Webhook.objects.all().delete()
    path, body = deliver(receiver, project, "wecom")
    text = "\n".join(["Reviews: New alert", *LINES, url]).replace("<", "\uff1c")
    assert path == "/hook?key=k"  # the key is the only secret
    assert body == {"msgtype": "text", "text": {"content": text}}


def test_dingtalk_signs_in_the_query_and_feishu_in_the_body(
    receiver: Receiver, project: Any
) -> None:
    with time_machine.travel(NOW, tick=False):
        path, body = deliver(receiver, project, "dingtalk", robot_secret=SECRET)
        milliseconds = str(int(NOW.timestamp()) * 1000)
        signed = hmac.new(SECRET.encode(), f"{milliseconds}\n{SECRET}".encode(), hashlib.sha256)
        assert parse_qs(urlsplit(path).query) == {
            "key": ["k"],
            "timestamp": [milliseconds],
            "sign": [base64.b64encode(signed.digest()).decode()],
        }
        assert body["msgtype"] == "text"
        Webhook.objects.all().delete()
        _path, body = deliver(receiver, project, "feishu", robot_secret=SECRET, language="zh-hans")
    seconds = str(int(NOW.timestamp()))
    signed = hmac.new(f"{seconds}\n{SECRET}".encode(), digestmod=hashlib.sha256)
    assert (body["timestamp"], body["msg_type"]) == (seconds, "post")
    assert body["sign"] == base64.b64encode(signed.digest()).decode()
    post = body["content"]["post"]["zh_cn"]
    assert post["title"].startswith("Reviews: ") and "New alert" not in post["title"]
    assert post["content"][-1][0]["tag"] == "a"


@pytest.mark.parametrize(
    ("format", "text", "is_accepted"),
    [
        ("dingtalk", '{"errcode": 0, "errmsg": "ok"}', True),
        ("dingtalk", '{"errcode": 310000, "errmsg": "sign not match"}', False),
        ("wecom", '{"errcode": 93000, "errmsg": "invalid webhook url"}', False),
        ("feishu", '{"code": 19021, "msg": "sign match fail"}', False),
        ("feishu", '{"StatusCode": 0, "code": 0}', True),
        ("feishu", "<html>", False),
        ("slack", "ok", True),
        ("teams", "", True),
    ],
)
def test_refusal_in_a_body_is_a_failure(
    receiver: Receiver, project: Any, format: str, text: str, is_accepted: bool
) -> None:
    receiver.respond = lambda handler, _body: answer(handler, 200, text.encode())
    webhook, _secret = services.create_webhook(
        project=project, url=receiver.url, kinds=[], format=format, by=None
    )
    services.send_test(webhook=webhook, by=None)
    outbox.deliver_to_webhook(webhook.pk)
    delivery = webhook.deliveries.get()
    assert delivery.log[0]["error"] == ("" if is_accepted else "rejected")
    assert (delivery.state == Delivery.State.DELIVERED) is is_accepted
    webhook.refresh_from_db()
    assert (webhook.failing_since is None) is is_accepted


def test_every_kind_has_a_message_within_the_limits(project: Any) -> None:
    assert set(chat.TITLES) == set(KINDS)
    assert set(chat.DEFAULT_KINDS) <= set(KINDS)
    project.name = "项" * 200
    project.save()
    data = {
        **dict.fromkeys(("question", "rater", "other_rater", "gate", "host"), "名" * 150),
        **{"alert": 10**9, "evidence": 1.0, "size": 0.1, "low": 0.0, "high": 0.2},
        "since": "2026-01-01",
        "changes": 10**6,
        "items": ["条" * 150] * 100,
        "rules": [{"measure": "gold_accuracy", "value": 0.5}] * 20,
    }
    for kind in KINDS:
        event = make_event(project, kind, **data)
        message = chat.describe_event(event, project.pk)
        body: Any = chat.format_for_wecom(message)
        assert len(body["text"]["content"].encode()) <= 2_048
        assert len(message.title) <= 150  # the header of Slack


def test_lead_connects_a_chat_and_its_secret_is_never_shown(
    receiver: Receiver, project: Any, client: Client, lead: Any
) -> None:
    client.force_login(lead)
    path = f"/projects/{project.pk}/settings/webhooks/"
    data = {"url": receiver.url, "format": "dingtalk", "robot_secret": SECRET, "language": "en"}
    page = client.post(path, data)
    webhook = Webhook.objects.get()
    assert page.status_code == 200 and "whsec_" not in page.text
    assert webhook.kinds == list(chat.DEFAULT_KINDS)
    detail = f"{path}{webhook.pk}/"
    page = client.get(detail)
    assert SECRET not in page.text and "Create new secret" not in page.text
    client.post(detail, {**data, "robot_secret": "", "kinds": ["gate.failed"]})
    webhook.refresh_from_db()
    assert (webhook.robot_secret, webhook.kinds) == (SECRET, ["gate.failed"])
    client.post(detail, {**data, "robot_secret": "", "format": "slack"})
    webhook.refresh_from_db()
    assert (webhook.robot_secret, webhook.format) == ("", "slack")
    for changes, field in (
        ({"format": "slack"}, "robot_secret"),
        ({"format": "icq"}, "format"),
        ({"language": "xx"}, "language"),
        ({"robot_secret": "line\nbreak"}, "robot_secret"),
    ):
        response = client.post(path, {**data, **changes})
        assert response.status_code == 400 and field in response.context["form"].errors
    assert Webhook.objects.count() == 1


def test_api_connects_a_chat(receiver: Receiver, project: Any, lead: Any) -> None:
    client = APIClient()
    client.force_authenticate(lead)
    path = f"/api/v1/projects/{project.pk}/webhooks/"
    data = {"url": receiver.url, "format": "feishu", "robot_secret": SECRET, "language": "zh-hans"}
    created = client.post(path, data, format="json").json()
    assert (created["format"], created["language"], created["secret"]) == ("feishu", "zh-hans", "")
    assert SECRET not in client.get(path).text
    response = client.post(f"{path}{created['id']}/rotate/")
    assert response.status_code == 400
    response = client.patch(f"{path}{created['id']}/", {"format": "slack"}, format="json")
    assert response.json()["format"] == "slack"
    assert Webhook.objects.get().robot_secret == ""

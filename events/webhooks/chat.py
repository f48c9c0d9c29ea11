"""Events as messages in a chat: Slack, Microsoft Teams, DingTalk, Feishu and WeCom.

A message has a title, a few lines with names and figures, and a link. Each service has a pure
function that returns its body. Names come from people, so they are sent as plain text, never as
markup: nobody can mention a whole channel by them, or show a link as something else.

The shapes are those of the services' documents:

* Slack: api.slack.com/messaging/webhooks, api.slack.com/reference/surfaces/formatting#escaping
* Teams: learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
* DingTalk: open.dingtalk.com/document/robots/custom-robot-access
* Feishu: open.feishu.cn/document/client-docs/bot-v3/add-custom-bot
* WeCom: developer.work.weixin.qq.com/document/path/91770
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote_plus

from django.urls import reverse
from django.utils import translation
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from core.text import (
    CHANGED,
    GRANTED,
    MESSAGED,
    OVERRIDDEN,
    PAUSED,
    PROPOSED,
    RESUMED,
    WAIVED,
    WARNED,
    describe_action,
)
from core.web.links import build_absolute_url
from events.models import Event, Webhook

from .http_client import Answer

MAX_NAME_LENGTH = 60  # characters of a name; a message stays below 2,048 bytes (WeCom)
MAX_ITEMS = 3  # keys of items

_ALERT, _RATER = gettext_lazy("Alert"), gettext_lazy("Rater")
TITLES: dict[str, Promise] = {
    "alert.opened": gettext_lazy("New alert"),
    "question.fell": gettext_lazy("Agreement fell"),
    "rater.drifted": gettext_lazy("A rater drifts"),
    "alert.acknowledged": gettext_lazy("Alert under investigation"),
    "alert.muted": describe_action(_ALERT, pgettext_lazy("action", "muted")),
    "alert.reopened": describe_action(_ALERT, pgettext_lazy("action", "reopened")),
    "alert.resolved": describe_action(_ALERT, pgettext_lazy("action", "resolved")),
    "label.changed": describe_action(gettext_lazy("Final labels"), CHANGED),
    "item.reviewed": describe_action(gettext_lazy("Item"), pgettext_lazy("action", "decided")),
    "question.complete": gettext_lazy("Question complete"),
    "gate.passed": gettext_lazy("Gate passes"),
    "gate.failed": gettext_lazy("A gate fails"),
    "gate.not_enough": gettext_lazy("Gate needs more data"),
    "import.finished": gettext_lazy("Import ended"),
    "guidelines.changed": describe_action(gettext_lazy("Guidelines"), CHANGED),
    "label_rules.changed": describe_action(gettext_lazy("Label rules"), CHANGED),
    "exam_rules.changed": describe_action(gettext_lazy("Exam rules"), CHANGED),
    "rater.paused": describe_action(_RATER, PAUSED),
    "rater.resumed": describe_action(_RATER, RESUMED),
    "rater.messaged": describe_action(_RATER, MESSAGED),
    "exam.started": gettext_lazy("Exam started"),
    "exam.passed": gettext_lazy("Exam passed"),
    "exam.failed": gettext_lazy("Exam not passed"),
    "exam.waived": describe_action(gettext_lazy("Exam"), WAIVED),
    "exam.retry_granted": describe_action(gettext_lazy("Exam attempt"), GRANTED),
    "gold.warn_proposed": describe_action(gettext_lazy("Warning"), PROPOSED),
    "gold.warn_carried_out": describe_action(_RATER, WARNED),
    "gold.pause_proposed": describe_action(gettext_lazy("Pause"), PROPOSED),
    "gold.pause_carried_out": describe_action(_RATER, PAUSED),
    "gold.overridden": describe_action(gettext_lazy("Warnings and pauses"), OVERRIDDEN),
    "webhook.paused": describe_action(gettext_lazy("Webhook"), PAUSED),
    "appeal.answered": gettext_lazy("Appeal answered"),
}
# Kinds that a chat gets unless others are selected: news that somebody should read. `rater.drifted`
# and `question.fell` are alerts, too, so `alert.opened` covers them.
DEFAULT_KINDS = (
    "alert.opened",
    "alert.resolved",
    "gate.passed",
    "gate.failed",
    "question.complete",
    "import.finished",
    "rater.paused",
)
NAMES: dict[str, Promise] = {
    "question": gettext_lazy("Question"),
    "rater": _RATER,
    "other_rater": gettext_lazy("Other rater"),
    "gate": gettext_lazy("Gate"),
    "host": gettext_lazy("Host"),
    "file": gettext_lazy("File"),
}


@dataclass(frozen=True)
class ChatMessage:
    """A message for a chat, without markup. ``url`` is absolute."""

    title: str
    lines: tuple[str, ...]
    url: str

    def as_text(self) -> str:
        return "\n".join([self.title, *self.lines, self.url])


def describe_event(event: Event | None, project_id: int | None) -> ChatMessage:
    """Return the chat message of an event, in the active language; for None, a test message.

    ``project_id``: the project of the webhook, None for one of the site.
    """
    if event is None:
        path = reverse("dashboard", args=[project_id]) if project_id else reverse("projects")
        text = _("This is a test.")
        return ChatMessage(_("Concord: test"), (text,), build_absolute_url(path))
    title = f"{_truncate_name(event.project.name)}: {TITLES[event.kind]}"
    path = _get_page_path(event)
    return ChatMessage(title, tuple(_iter_lines(event.data)), build_absolute_url(path))


def _iter_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines with the names and figures of an event."""
    for key, label in NAMES.items():
        if data.get(key):
            yield f"{label}: {_truncate_name(str(data[key]))}"
    if "evidence" in data and isinstance(data.get("size"), int | float):
        yield _("Size: %(size)s (between %(low)s and %(high)s); since %(since)s") % {
            **{name: _format_number(data[name]) for name in ("size", "low", "high")},
            "since": data["since"],
        }
    for rule in data.get("rules", [])[:MAX_ITEMS]:
        if rule.get("value") is not None:
            yield f"{rule['measure']}: {_format_number(rule['value'])}"
    if "changes" in data:
        n = data["changes"]
        yield ngettext("%(n)s label", "%(n)s labels", n) % {"n": n}
    items = data.get("items")
    if isinstance(items, list) and items:
        more = ", …" if len(items) > MAX_ITEMS else ""
        keys = ", ".join(_truncate_name(str(key)) for key in items[:MAX_ITEMS])
        yield _("Items: %(items)s") % {"items": f"{keys}{more}"}


def _get_page_path(event: Event) -> str:
    """Return the path of the page about an event: the alert, the gates or the dashboard."""
    if event.data.get("alert"):
        return reverse("alert", args=[event.project_id, event.data["alert"]])
    if event.kind.startswith("gate."):
        return reverse("gates", args=[event.project_id])
    return reverse("dashboard", args=[event.project_id])


def _format_number(value: float | None) -> str:
    return "–" if value is None else number_format(value, 2)


def _truncate_name(name: str) -> str:
    """Return a name in one line of limited length."""
    line = " ".join(name.split())
    return line if len(line) <= MAX_NAME_LENGTH else f"{line[: MAX_NAME_LENGTH - 1]}…"


Body = dict[str, object]  # JSON

Format = Webhook.Format
# Formats whose robots can demand a signature by a secret.
SIGNED_FORMATS = (Format.DINGTALK, Format.FEISHU)
HEADERS = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "Concord-Webhooks"}
# The key of a response's body that is 0 when the message was accepted: these services answer 200 to
# everything.
RESULT_KEYS = {Format.DINGTALK: "errcode", Format.WECOM: "errcode", Format.FEISHU: "code"}


@dataclass(frozen=True)
class ChatRequest:
    url: str
    body: bytes
    headers: Mapping[str, str]


def build_request(webhook: Webhook, event: Event | None, *, now: datetime.datetime) -> ChatRequest:
    """Build the request that sends an event to the webhook's chat; for None, a test message."""
    with translation.override(webhook.language or "en"):
        body = FORMATTERS[Format(webhook.format)](describe_event(event, webhook.project_id))
    url = webhook.url
    if webhook.robot_secret and webhook.format == Format.DINGTALK:
        url = sign_dingtalk_url(url, webhook.robot_secret, now)
    elif webhook.robot_secret and webhook.format == Format.FEISHU:
        body = {**build_feishu_signature(webhook.robot_secret, now), **body}
    return ChatRequest(url, json.dumps(body, ensure_ascii=False).encode(), HEADERS)


def interpret_answer(webhook: Webhook, answer: Answer) -> Answer:
    """Return the answer, with the error "rejected" if its body says that the chat failed.

    Some chats answer 200 to everything.
    """
    key = RESULT_KEYS.get(Format(webhook.format))
    if key is None or not answer.is_success:
        return answer
    try:
        result = json.loads(answer.text)
    except ValueError:
        result = None
    is_accepted = isinstance(result, dict) and result.get(key, 0) == 0
    return answer if is_accepted else replace(answer, error="rejected")


# --- one function per service


def format_for_slack(message: ChatMessage) -> Body:
    """Return the message as Slack blocks: plain text and a link.

    ``text`` is for notifications.
    """
    blocks: list[Body] = [{"type": "header", "text": _build_slack_text(message.title)}]
    if message.lines:
        text = _build_slack_text("\n".join(message.lines))
        blocks.append({"type": "section", "text": text})
    link = f"<{message.url}|{_escape_for_slack(_('Open in Concord'))}>"
    blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": link}})
    return {"text": _escape_for_slack(message.title), "blocks": blocks}


def _build_slack_text(text: str) -> Body:
    return {"type": "plain_text", "text": text, "emoji": False}


def _escape_for_slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def format_for_teams(message: ChatMessage) -> Body:
    """Return the message as an adaptive card for a workflow of Teams, without Markdown."""
    title = {"type": "TextRun", "text": message.title, "weight": "Bolder"}
    runs = [title, *({"type": "TextRun", "text": line} for line in message.lines)]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [run]} for run in runs],
        "actions": [
            {"type": "Action.OpenUrl", "title": _("Open in Concord"), "url": message.url},
        ],
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return {"type": "message", "attachments": [attachment]}


def format_for_dingtalk(message: ChatMessage) -> Body:
    return {"msgtype": "text", "text": {"content": message.as_text()}}


def format_for_wecom(message: ChatMessage) -> Body:
    """Return the message as plain text; the limits of names keep it below WeCom's 2,048 bytes.

    ``<`` is replaced by a similar character, because ``<@name>`` would mention somebody.
    """
    return {"msgtype": "text", "text": {"content": message.as_text().replace("<", "\uff1c")}}


def format_for_feishu(message: ChatMessage) -> Body:
    """Return the message as rich text, whose elements are plain text."""
    paragraphs: list[list[Body]] = [[{"tag": "text", "text": line}] for line in message.lines]
    paragraphs.append([{"tag": "a", "text": _("Open in Concord"), "href": message.url}])
    post = {"title": message.title, "content": paragraphs}
    # The key names a language, but every reader is shown the only one there is.
    return {"msg_type": "post", "content": {"post": {"zh_cn": post}}}


FORMATTERS: dict[Format, Callable[[ChatMessage], Body]] = {
    Format.SLACK: format_for_slack,
    Format.TEAMS: format_for_teams,
    Format.DINGTALK: format_for_dingtalk,
    Format.FEISHU: format_for_feishu,
    Format.WECOM: format_for_wecom,
}


# --- signatures


def sign_dingtalk_url(url: str, secret: str, now: datetime.datetime) -> str:
    """Add the time (in milliseconds) and the signature to the URL's query, as DingTalk requires."""
    timestamp = int(now.timestamp() * 1000)
    digest = hmac.digest(secret.encode(), f"{timestamp}\n{secret}".encode(), hashlib.sha256)
    signature = quote_plus(base64.b64encode(digest))
    return f"{url}{'&' if '?' in url else '?'}timestamp={timestamp}&sign={signature}"


def build_feishu_signature(secret: str, now: datetime.datetime) -> Body:
    """Return the fields ``timestamp`` (in seconds) and ``sign`` of a Feishu message.

    As Feishu requires, time and secret are the key of the HMAC, and the signed message is empty.
    """
    timestamp = str(int(now.timestamp()))
    digest = hmac.digest(f"{timestamp}\n{secret}".encode(), b"", hashlib.sha256)
    return {"timestamp": timestamp, "sign": base64.b64encode(digest).decode()}

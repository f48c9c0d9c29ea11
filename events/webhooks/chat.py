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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote_plus

from django.utils import translation
from django.utils.translation import gettext as _

from events.models import Event, Webhook

from .chat_texts import ChatMessage, describe_event
from .http_client import Answer

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
    """Return the request that shows an event, or a test for None, in the webhook's chat."""
    with translation.override(webhook.language or "en"):
        body = FORMATTERS[Format(webhook.format)](describe_event(event, webhook.project_id))
    url = webhook.url
    if webhook.robot_secret and webhook.format == Format.DINGTALK:
        url = sign_dingtalk_url(url, webhook.robot_secret, now)
    elif webhook.robot_secret and webhook.format == Format.FEISHU:
        body = {**build_feishu_signature(webhook.robot_secret, now), **body}
    return ChatRequest(url, json.dumps(body, ensure_ascii=False).encode(), HEADERS)


def interpret_answer(webhook: Webhook, answer: Answer) -> Answer:
    """Return the answer, as rejected where only its body says that the message was not accepted."""
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
    """Return blocks of plain text; a link needs mrkdwn. ``text`` is shown in notifications."""
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
    """Return an adaptive card, as a workflow of Teams expects it; text runs have no Markdown."""
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
    """Return plain text, in which `<@name>` would mention somebody; at most 2,048 bytes."""
    return {"msgtype": "text", "text": {"content": message.as_text().replace("<", "\uff1c")}}


def format_for_feishu(message: ChatMessage) -> Body:
    """Return rich text, whose elements are plain text."""
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
    """Return the URL with time (milliseconds) and signature in its query."""
    timestamp = int(now.timestamp() * 1000)
    digest = hmac.digest(secret.encode(), f"{timestamp}\n{secret}".encode(), hashlib.sha256)
    signature = quote_plus(base64.b64encode(digest))
    return f"{url}{'&' if '?' in url else '?'}timestamp={timestamp}&sign={signature}"


def build_feishu_signature(secret: str, now: datetime.datetime) -> Body:
    """Return the fields of a body with time (seconds) and signature.

    Time and secret are the key of the HMAC, and the signed message is empty.
    """
    timestamp = str(int(now.timestamp()))
    digest = hmac.digest(f"{timestamp}\n{secret}".encode(), b"", hashlib.sha256)
    return {"timestamp": timestamp, "sign": base64.b64encode(digest).decode()}

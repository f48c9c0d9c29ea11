"""Texts of chat messages about events: a title, lines with names and figures, and a link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
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
from events.models import Event

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
    """A message without markup; ``url`` is absolute."""

    title: str
    lines: tuple[str, ...]
    url: str

    def as_text(self) -> str:
        return "\n".join([self.title, *self.lines, self.url])


def describe_event(event: Event | None, project_id: int | None) -> ChatMessage:
    """Return the message of an event, or a test message, in the active language.

    ``project_id``: project of the webhook, None for one of the site.
    """
    if event is None:
        path = reverse("dashboard", args=[project_id]) if project_id else reverse("projects")
        text = _("This is a test. Events appear here.")
        return ChatMessage(_("Concord: test"), (text,), build_absolute_url(path))
    title = f"{_shorten(event.project.name)}: {TITLES[event.kind]}"
    path = _get_path(event)
    return ChatMessage(title, tuple(_iter_lines(event.data)), build_absolute_url(path))


def _iter_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines with the names and figures of an event."""
    for key, label in NAMES.items():
        if data.get(key):
            yield f"{label}: {_shorten(str(data[key]))}"
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
        keys = ", ".join(_shorten(str(key)) for key in items[:MAX_ITEMS])
        yield _("Items: %(items)s") % {"items": f"{keys}{more}"}


def _get_path(event: Event) -> str:
    """Return the path of the page about an event."""
    if event.data.get("alert"):
        return reverse("alert", args=[event.project_id, event.data["alert"]])
    if event.kind.startswith("gate."):
        return reverse("gates", args=[event.project_id])
    return reverse("dashboard", args=[event.project_id])


def _format_number(value: float | None) -> str:
    return "–" if value is None else number_format(value, 2)


def _shorten(name: str) -> str:
    """Return a name in one line of limited length."""
    line = " ".join(name.split())
    return line if len(line) <= MAX_NAME_LENGTH else f"{line[: MAX_NAME_LENGTH - 1]}…"

"""The data card of a set of labels: who rated, how far they agree, how labels were made, what is
not known. Markdown, in English: it travels with the file."""

from __future__ import annotations

import hashlib
from typing import Any

from django.db.models import Count

from metrics.models import Reading, Span
from projects.models import Question, Rater
from quality.models import Consensus, ItemLabel, Method, Source
from ratings.models import Rating

from . import selectors

HOW = {
    Method.DAWID_SKENE: (
        "Dawid and Skene's model (1979), maximum a posteriori: the raters' habits are estimated"
        " with ten pseudo-ratings a row, seven of them right."
    ),
    Method.WEIGHTED: "Majority, each vote weighted by the rater's skill.",
    Method.MAJORITY: "Majority, each rater one vote; ties have no label.",
}


def text(question: Question) -> str:
    """The whole card. Numbers come from stored readings and labels."""
    consensus = Consensus.objects.filter(question=question).first()
    parts = [
        f"# Labels: {question.project.name}",
        f"Question: {question.text or question.key} (`{question.key}`, {question.scale} scale)",
        *_made(question, consensus),
        *_rated(question),
        *_limits(question, consensus),
    ]
    return "\n\n".join(parts) + "\n"


def _made(question: Question, consensus: Consensus | None) -> list[str]:
    if consensus is None or consensus.made_at is None:
        return ["No labels were made yet."]
    labels = ItemLabel.objects.filter(question=question)
    by_source = dict(labels.values_list("source").annotate(Count("pk")).order_by())
    unlabelled = labels.filter(code=None).count()
    lines = [
        f"* As of {consensus.made_at:%Y-%m-%d %H:%M} UTC, guidelines"
        f" {question.project.guidelines_version}",
        f"* {sum(by_source.values())} items: "
        + ", ".join(f"{n} by {Source(source).value}" for source, n in sorted(by_source.items())),
        f"* Without a label (tied): {unlabelled}",
        f"* Hash of the labels (SHA-256): `{digest(question, consensus)}`",
    ]
    if consensus.expected_errors is not None:
        lines.append(f"* Expected wrong labels among these: {consensus.expected_errors:.1f}")
    return ["## How labels were made", HOW[Method(consensus.method)], "\n".join(lines)]


def _rated(question: Question) -> list[str]:
    kinds = Rater.objects.filter(
        project=question.project,
        pk__in=Rating.objects.standing().filter(question=question).values("rater"),
    )
    people = kinds.filter(kind=Rater.Kind.HUMAN).count()
    lines = [f"* Raters: {people} people, {kinds.count() - people} models"]
    whole = Reading.objects.filter(question=question, span=Span.ALL).first()
    known = whole.of_all if whole else {}
    if whole is not None and known is not whole.coefficients:
        lines.append("* Agreement below: of the people")
    first = [whole.headline["name"]] if whole and whole.headline else []
    for name in dict.fromkeys([*first, "fleiss_kappa", f"krippendorff_alpha_{question.scale}"]):
        if (value := known.get(name)) is not None:
            lines.append(f"* {name}: {_worded(value)}")
    if whole is not None and "drawn" in whole.headline:
        lines.append(_drawn(whole.headline))
    if whole is not None:
        details = whole.details
        lines.append(
            f"* {details.get('rated', 0)} items rated,"
            f" {details.get('with_two_or_more', 0)} by two raters or more"
        )
    return ["## Who rated, and how far they agree", "\n".join(lines)]


def _drawn(first: dict[str, Any]) -> str:
    return (
        f"* {first['drawn']['left_out']} ratings were asked for because others had left their items"
        f" in doubt, which lowers the above; {first['name']} without them:"
        f" {_worded(first['value'])}"
    )


def _worded(value: dict[str, float | None]) -> str:
    if value.get("value") is None:
        return f"undefined ({value.get('reason')})"
    said = f"{value['value']:.3f}"
    if value.get("low") is not None:
        said += f" [{value['low']:.3f}, {value['high']:.3f}]"
    return said


def _limits(question: Question, consensus: Consensus | None) -> list[str]:
    lines = [
        "* Probabilities assume that raters err independently of each other, given the truth.",
        "* Items that nobody rated, decided or gave a gold answer are not in the file.",
    ]
    if consensus is not None and consensus.reason:
        lines.append(f"* No certainty could be estimated: {consensus.reason}.")
    if consensus is not None and consensus.with_models:
        lines.append("* Models counted as raters.")
    return ["## Known limits", "\n".join(lines)]


def digest(question: Question, consensus: Consensus | None) -> str:
    """SHA-256 over "item, tab, label, tab, source" of each item in the order of their keys: equal
    labels have one hash wherever they are made."""
    words = selectors.Words.of(question, consensus)
    lines = []
    for _item, row in selectors.rows(selectors.chosen(question), words):
        lines.append(f"{row['item']}\t{row['label'] or ''}\t{row['source']}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()

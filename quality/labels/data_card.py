"""Data card of a set of labels: raters, agreement, method and limits.

Markdown, in English: it accompanies the file.
"""

from __future__ import annotations

import hashlib

from django.db.models import Count
from django.utils import translation

from metrics.agreement.consensus import MIN_GOLD_ITEMS
from metrics.results.question_agreement import load_question_agreement
from metrics.results.stored_values import HeadlineResult, Value
from metrics.views.common import display_names
from projects.models import Question, Rater
from quality.models import Consensus, ConsensusMethod, ItemLabel, LabelSource
from ratings.models import Rating

from . import selectors

METHOD_TEXTS = {
    ConsensusMethod.DAWID_SKENE: (
        "Dawid and Skene's model (1979), maximum a posteriori: the raters' habits are estimated"
        " with ten pseudo-ratings a row, seven of them right."
    ),
    ConsensusMethod.WEIGHTED: "Majority, each vote weighted by the rater's skill.",
    ConsensusMethod.MAJORITY: "Majority, one vote per rater; ties have no label.",
}

# Source of a label, as in the column "source" of the files -> what it means.
SOURCE_TEXTS = {
    LabelSource.CONSENSUS: "computed from the ratings (`consensus`)",
    LabelSource.DECISION: "decided in review (`decision`)",
    LabelSource.GOLD: "from gold answers (`gold`)",
}


def build_data_card(question: Question) -> str:
    """Return the data card in Markdown, from stored results and labels, and from the ratings."""
    consensus = Consensus.objects.filter(question=question).first()
    parts = [
        f"# Labels: {question.project.name}",
        f"Question: {question.text or question.key} (`{question.key}`, {question.scale} scale)",
        *_build_method_section(question, consensus),
        *_build_agreement_section(question),
        *_build_limits_section(question, consensus),
    ]
    return "\n\n".join(parts) + "\n"


def _build_method_section(question: Question, consensus: Consensus | None) -> list[str]:
    if consensus is None or consensus.computed_at is None:
        return ["No labels yet."]
    labels = ItemLabel.objects.filter(question=question)
    by_source = dict(labels.values_list("source").annotate(Count("pk")).order_by())
    unlabelled = labels.filter(code=None).count()
    lines = [
        f"* As of {consensus.computed_at:%Y-%m-%d %H:%M} UTC",
        f"* {sum(by_source.values())} items: "
        + ", ".join(f"{n} {SOURCE_TEXTS[source]}" for source, n in sorted(by_source.items())),
        f"* Without a label (tied): {unlabelled}",
        f"* Hash of the labels (SHA-256): `{compute_digest(question, consensus)}`",
    ]
    if consensus.expected_errors is not None:
        lines.append(f"* Expected wrong labels among these: {consensus.expected_errors:.1f}")
    return [
        "## Method",
        _describe_method(consensus),
        *(
            ["Labels from ratings are medians of the probabilities."]
            if consensus.has_medians
            else []
        ),
        "\n".join(lines),
    ]


def _describe_method(consensus: Consensus) -> str:
    """Return the sentence on the method that gave the labels.

    It is that of a majority vote if the chosen model could not be estimated.
    """
    if not consensus.reason:
        return METHOD_TEXTS[ConsensusMethod(consensus.method)]
    return (
        f"{METHOD_TEXTS[ConsensusMethod.MAJORITY]} Dawid and Skene's model was chosen, but could"
        f" not be estimated ({consensus.reason})."
    )


def _build_agreement_section(question: Question) -> list[str]:
    kinds = Rater.objects.filter(
        project=question.project,
        pk__in=Rating.objects.current().filter(question=question).values("rater"),
    )
    people = kinds.filter(kind=Rater.Kind.HUMAN).count()
    lines = [
        f"* Raters: {people} people, {kinds.count() - people} models",
        f"* Guidelines (number of ratings): {_format_guideline_versions(question)}",
    ]
    agreement = load_question_agreement(question)
    if agreement is not None and (clusters := agreement.clusters) is not None:
        lines.append(
            f"* Intervals: items with the same {clusters.attribute} are alike;"
            f" {clusters.n_items} items in {clusters.n_clusters} clusters"
        )
    coefficients = dict(agreement.population_coefficients) if agreement else {}
    if agreement and agreement.headline:  # Cohen's kappa is not among those of the population
        coefficients[agreement.headline["name"]] = agreement.headline["value"]
    if agreement is not None and agreement.is_of_people_only:
        lines.append("* Agreement: people only")
    headline_names = [agreement.headline["name"]] if agreement and agreement.headline else []
    for name in dict.fromkeys(
        [*headline_names, "fleiss_kappa", f"krippendorff_alpha_{question.scale}"]
    ):
        if (value := coefficients.get(name)) is not None:
            lines.append(f"* {_get_english_name(name)}: {_format_value(value)}")
    if agreement is not None and "sample" in agreement.headline:
        lines.append(_describe_random_sample(agreement.headline))
    if agreement is not None:
        details = agreement.details
        lines.append(
            f"* {details.get('rated', 0)} items rated,"
            f" {details.get('with_two_or_more', 0)} by at least two raters"
        )
    return ["## Raters and agreement", "\n".join(lines)]


def _get_english_name(coefficient: str) -> str:
    """Return the English name of a coefficient with its weights."""
    with translation.override("en"):
        return str(display_names.get_coefficient_name(coefficient))


def _format_guideline_versions(question: Question) -> str:
    """Return each version of the guidelines under which ratings were given, with their number."""
    ratings = Rating.objects.current().filter(question=question).order_by("guidelines")
    counts = ratings.values_list("guidelines").annotate(Count("pk"))
    names = {None: "unknown", 0: "none"}
    return ", ".join(f"{names.get(number, number)} ({n})" for number, n in counts) or "no ratings"


def _describe_random_sample(headline: HeadlineResult) -> str:
    """Return the line on the headline that leaves out ratings requested for uncertain items."""
    return (
        f"* {headline['sample']['left_out']} ratings were requested because their items were"
        f" uncertain, which lowers the above; {_get_english_name(headline['name'])} without them:"
        f" {_format_value(headline['value'])}"
    )


def _format_value(value: Value) -> str:
    if value["value"] is None:
        return f"undefined ({value['reason']})"
    text = f"{value['value']:.3f}"
    if value["low"] is not None:
        text += f" [{value['low']:.3f}, {value['high']:.3f}]"
    return text


def _build_limits_section(question: Question, consensus: Consensus | None) -> list[str]:
    lines = ["* Items that nobody rated, decided or gave a gold answer are not in the file."]
    gold_items = consensus.model.get("gold_items") if consensus is not None else None
    if consensus is None or not consensus.model:
        lines.append("* Labels from ratings have no confidence; shares are those of the votes.")
    elif gold_items:
        lines.append(
            f"* Confidence is calibrated on the gold answers of {gold_items} items. It holds for"
            " items of the same kind."
        )
    else:
        lines.append(
            "* Probabilities assume that raters err independently of each other, given the truth."
            f" Without gold answers for {MIN_GOLD_ITEMS} items, errors that all raters share are"
            " missed, so confidence is often too high."
        )
    if consensus is not None and consensus.with_models:
        lines.append("* Models counted as raters.")
    return ["## Known limits", "\n".join(lines)]


def compute_digest(question: Question, consensus: Consensus | None) -> str:
    """Return the SHA-256 of the question's labels, which is equal for equal labels on every site.

    It is that of the sorted lines "item, tab, label, tab, source, line feed". ``consensus``: the
    question's row, None if it has no labels from ratings.
    """
    label_names = selectors.LabelNames.for_question(question, consensus)
    lines = []
    for _item, row in selectors.iter_label_rows(selectors.get_labels(question), label_names):
        lines.append(f"{row.item}\t{row.label or ''}\t{row.source}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()

"""Templates for new questions: common ones, to be edited before use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from projects.models import Scale

LazyText = Any  # translated when it is shown


@dataclass(frozen=True, kw_only=True)
class QuestionTemplate:
    """A question with its categories and guidelines, to be edited before use.

    ``labels`` are in declared order; ``values`` are empty except for numeric scales.
    """

    name: LazyText
    question: LazyText
    scale: Scale
    labels: Sequence[LazyText]
    values: Sequence[float] = ()
    guideline_lines: Sequence[LazyText] = ()

    @property
    def guidelines(self) -> str:
        """The guidelines as Markdown; empty if the template has none."""
        return (
            "\n".join([f"# {self.name}", "", *map(str, self.guideline_lines)])
            if self.guideline_lines
            else ""
        )

    @property
    def rows(self) -> list[dict[str, object]]:
        """The initial rows of the categories formset."""
        values: list[Any] = [*self.values, *[None] * len(self.labels)]
        pairs = zip(self.labels, values, strict=False)
        return [{"label": str(label), "value": value} for label, value in pairs]


QUESTION_TEMPLATES = {
    "yes-no": QuestionTemplate(
        name=_("Yes or no"),
        question=_("Does the text request help?"),
        scale=Scale.NOMINAL,
        labels=(_("yes"), _("no")),
    ),
    "sentiment": QuestionTemplate(
        name=_("Sentiment"),
        question=_("What is the tone of the text?"),
        scale=Scale.ORDINAL,
        labels=(_("negative"), _("neutral"), _("positive")),
        guideline_lines=(_("Rate the tone, not the topic."),),
    ),
    "severity": QuestionTemplate(
        name=_("Severity"),
        question=_("How severe is the worst error?"),
        scale=Scale.ORDINAL,
        labels=(_("none"), _("minor"), _("major"), _("critical")),
        guideline_lines=(
            _("- **none**: no change needed"),
            _("- **minor**: easy to understand"),
            _("- **major**: misleading"),
            _("- **critical**: harmful"),
        ),
    ),
    "pairwise": QuestionTemplate(
        name=_("Side-by-side comparison"),
        question=_("Which one is better?"),
        scale=Scale.ORDINAL,
        labels=(_("the first"), _("equally good"), _("the second")),
        guideline_lines=(_("Compare both parts of the item."),),
    ),
    "grades": QuestionTemplate(
        name=_("Score from 1 to 5"),
        question=_("How good is the answer?"),
        scale=Scale.INTERVAL,
        labels=("1", "2", "3", "4", "5"),
        values=(1, 2, 3, 4, 5),
    ),
}

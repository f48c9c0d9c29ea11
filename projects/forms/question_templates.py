"""What a new project may begin with: questions as many ask them, to be changed before they are
used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from projects.models import Scale

Text = Any  # a text that is translated when it is shown


@dataclass(frozen=True, kw_only=True)
class Start:
    """``labels`` in declared order; ``values`` for scales with numbers."""

    name: Text
    question: Text
    scale: Scale
    labels: Sequence[Text]
    values: Sequence[float] = ()
    advice: Sequence[Text] = ()  # lines

    @property
    def guidelines(self) -> str:
        """As Markdown."""
        return "\n".join([f"# {self.name}", "", *map(str, self.advice)]) if self.advice else ""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """As the table of categories takes them."""
        values: list[Any] = [*self.values, *[None] * len(self.labels)]
        pairs = zip(self.labels, values, strict=False)
        return [{"label": str(label), "value": value} for label, value in pairs]


STARTS = {
    "yes-no": Start(
        name=_("Yes or no"),
        question=_("Does the text ask for help?"),
        scale=Scale.NOMINAL,
        labels=(_("yes"), _("no")),
    ),
    "sentiment": Start(
        name=_("Sentiment"),
        question=_("What is the tone of the text?"),
        scale=Scale.ORDINAL,
        labels=(_("negative"), _("neutral"), _("positive")),
        advice=(
            _(
                "Rate the tone of the words, not what they tell. Where praise and blame are"
                " of one weight, it is neutral."
            ),
        ),
    ),
    "severity": Start(
        name=_("Severity"),
        question=_("How severe is the worst error?"),
        scale=Scale.ORDINAL,
        labels=(_("none"), _("minor"), _("major"), _("critical")),
        advice=(
            _("- **none**: nothing to change"),
            _("- **minor**: understood all the same"),
            _("- **major**: misleads"),
            _("- **critical**: does harm"),
        ),
    ),
    "pairwise": Start(
        name=_("Two side by side"),
        question=_("Which of the two is better?"),
        scale=Scale.ORDINAL,
        labels=(_("the first"), _("equally good"), _("the second")),
        advice=(
            _(
                "Items have two parts, the first and the second. Which one was"
                " made by whom, nobody says."
            ),
        ),
    ),
    "grades": Start(
        name=_("Grades from 1 to 5"),
        question=_("How good is the answer?"),
        scale=Scale.INTERVAL,
        labels=("1", "2", "3", "4", "5"),
        values=(1, 2, 3, 4, 5),
    ),
}

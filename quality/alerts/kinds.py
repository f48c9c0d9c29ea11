"""Registry of alert kinds: sentences, links, causes and charts.

The rules that raise them are in metrics.agreement (drift, outliers) and in scan.py;
suspected gold is detected by quality.gold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from quality.models import Alert, AlertCause, AlertKind

from . import kind_texts, text_parts


def _build_url(alert: Alert, url_name: str, *args: object, **params: str) -> str:
    """Return the URL of a page of the alert's project, with its question in the query."""
    path = reverse(url_name, args=[alert.question.project_id, *args])
    return f"{path}?{urlencode({**params, 'question': alert.question.key})}"


def get_rater_link(alert: Alert) -> tuple[str, str]:
    assert alert.rater is not None
    return _build_url(alert, "rater", alert.rater.key), _("View rater")


def get_pair_link(alert: Alert) -> tuple[str, str]:
    assert alert.rater is not None and alert.other_rater is not None
    return _build_url(alert, "pair", a=alert.rater.key, b=alert.other_rater.key), _(
        "Compare raters"
    )


def get_question_link(alert: Alert) -> tuple[str, str]:
    return _build_url(alert, "dashboard"), _("View question")


def get_categories_link(alert: Alert) -> tuple[str, str]:
    url = reverse("question", args=[alert.question.project_id, alert.question.key])
    return url, _("Edit categories")


def get_members_link(alert: Alert) -> tuple[str, str]:
    return reverse("people", args=[alert.question.project_id]), _("View people")


def get_gold_link(alert: Alert) -> tuple[str, str]:
    return _build_url(alert, "gold"), _("Review gold answers")


_CHANGE_CHART = gettext_lazy("Lines: means before and after. Shaded: when it began (95% interval).")
# Optional sections of an alert's page.
DEVIATING_RATINGS, CATEGORY_USE = "deviating_ratings", "category_use"
ABOUT_RATER, ABOUT_QUESTION, ABOUT_PAIR = "rater", "question", "pair"
RATER_CAUSES = {
    AlertCause.REAL: gettext_lazy("Confirm and resolve"),
    AlertCause.NOT_RATER: gettext_lazy("Dismiss"),
}
OTHER_CAUSES = {
    AlertCause.REAL: gettext_lazy("Confirm and resolve"),
    AlertCause.EXPLAINED: gettext_lazy("Dismiss"),
}


@dataclass(frozen=True)
class AlertKindDefinition:
    """Texts and behavior of one kind of alert.

    * ``brief``: what changed, since when and by how much, beside the name of an affected rater;
      None where no rater is affected: ``own_sentence`` is the text then.
    * ``basis``: further sentences on the data behind it; ``explanations``: other possible causes.
    * ``link``: (address, text) of the page where one acts on it.
    * ``error_rate``: how often such an alert is false at its level of evidence.
    * ``causes``: the possible causes with their labels; ``hint``: the effect of a cause.
    * ``sections``: DEVIATING_RATINGS and CATEGORY_USE, where its page shows them.
    * ``chart``: caption of the chart; None if there is no chart.
    * ``about``: ABOUT_RATER, ABOUT_QUESTION or ABOUT_PAIR, empty for counts. Of two kinds about
      the same thing, only one raises an alert for one cause.
    * ``from_start``: the finding has no onset; it holds since the rater's first rating.
    """

    basis: Callable[[Alert], list[str]]
    explanations: Callable[[Alert], list[str]]
    link: Callable[[Alert], tuple[str, str]]
    error_rate: Callable[[Alert], str]
    causes: Mapping[AlertCause, Promise]
    hint: Promise
    sections: frozenset[str] = frozenset()
    chart: Promise | None = None
    brief: Callable[[Alert, int], str] | None = None
    own_sentence: Callable[[Alert], str] | None = None
    about: str = ""
    from_start: bool = False

    def sentence(self, alert: Alert) -> str:
        """Return a sentence on what changed, since when and by how much."""
        if self.own_sentence is not None:
            return self.own_sentence(alert)
        assert self.brief is not None and alert.rater_id is not None
        return _("%(rater)s %(text)s.") % {
            "rater": str(alert.rater),
            "text": self.brief(alert, alert.rater_id),
        }


_CLOSED_HINT = gettext_lazy("This cause won’t alert again.")

_rater_kind = partial(
    AlertKindDefinition,
    link=get_rater_link,
    error_rate=text_parts.describe_lifetime_error_rate,
    causes=RATER_CAUSES,
    hint=gettext_lazy("While this is open, the rater gets no other alert."),
    sections=frozenset({DEVIATING_RATINGS}),
    chart=gettext_lazy("Line: mean."),
    about=ABOUT_RATER,
    from_start=True,
)
_level_change_kind = partial(
    AlertKindDefinition,
    basis=kind_texts.list_level_basis,
    explanations=kind_texts.list_level_explanations,
    error_rate=text_parts.describe_question_error_rate,
    causes=OTHER_CAUSES,
    hint=_CLOSED_HINT,
    chart=_CHANGE_CHART,
    about=ABOUT_QUESTION,
)

KINDS: dict[str, AlertKindDefinition] = {
    AlertKind.RATER_DRIFT: AlertKindDefinition(
        brief=kind_texts.build_drift_brief_text,
        basis=kind_texts.list_drift_basis,
        explanations=kind_texts.list_drift_explanations,
        link=get_rater_link,
        error_rate=text_parts.describe_rater_error_rate,
        causes=RATER_CAUSES,
        hint=gettext_lazy(
            "After you confirm, this rater’s later ratings are no longer used to detect drift "
            "in others."
        ),
        sections=frozenset({DEVIATING_RATINGS, CATEGORY_USE}),
        chart=format_lazy("{} {}", _CHANGE_CHART, gettext_lazy("Adjusted for the others.")),
        about=ABOUT_RATER,
    ),
    AlertKind.RATER_SAME_ANSWER: _rater_kind(
        brief=kind_texts.build_same_answer_brief_text,
        basis=kind_texts.list_same_answer_basis,
        explanations=kind_texts.list_same_answer_explanations,
    ),
    AlertKind.RATER_TOO_FAST: _rater_kind(
        brief=kind_texts.build_fast_brief_text,
        basis=kind_texts.list_fast_basis,
        explanations=kind_texts.list_fast_explanations,
    ),
    AlertKind.RATER_DISAGREES: _rater_kind(
        brief=kind_texts.build_outlier_brief_text,
        basis=kind_texts.list_outlier_basis,
        explanations=kind_texts.list_outlier_explanations,
    ),
    AlertKind.NEWCOMER_BELOW: _rater_kind(
        brief=kind_texts.build_newcomer_brief_text,
        basis=kind_texts.list_newcomer_basis,
        explanations=kind_texts.list_newcomer_explanations,
        error_rate=text_parts.describe_newcomer_error_rate,
    ),
    AlertKind.RATER_COPIES: AlertKindDefinition(
        brief=kind_texts.build_copies_brief_text,
        basis=kind_texts.list_copies_basis,
        explanations=kind_texts.list_copies_explanations,
        link=get_pair_link,
        error_rate=text_parts.describe_copies_error_rate,
        causes=OTHER_CAUSES,
        hint=_CLOSED_HINT,
        chart=gettext_lazy("Line: mean."),
        about=ABOUT_PAIR,
        from_start=True,
    ),
    AlertKind.QUESTION_FELL: _level_change_kind(
        own_sentence=kind_texts.build_question_sentence, link=get_question_link
    ),
    AlertKind.PAIR_DIVERGED: _level_change_kind(
        brief=kind_texts.build_pair_brief_text,
        link=get_pair_link,
    ),
    AlertKind.CATEGORY_COLLAPSED: _level_change_kind(
        own_sentence=kind_texts.build_category_sentence, link=get_categories_link
    ),
    AlertKind.RATINGS_MISSING: AlertKindDefinition(
        own_sentence=kind_texts.build_overlap_sentence,
        basis=kind_texts.list_overlap_basis,
        explanations=kind_texts.list_overlap_explanations,
        link=get_members_link,
        error_rate=text_parts.describe_absent_error_rate,
        causes=OTHER_CAUSES,
        hint=_CLOSED_HINT,
    ),
    AlertKind.GOLD_SUSPECTED: AlertKindDefinition(
        own_sentence=kind_texts.build_gold_sentence,
        basis=kind_texts.list_gold_basis,
        explanations=kind_texts.list_gold_explanations,
        link=get_gold_link,
        error_rate=text_parts.describe_gold_error_rate,
        causes=OTHER_CAUSES,
        hint=gettext_lazy("Not scored until you decide."),
    ),
}


# Alerts whose cause is known if the rater answers the scale upside down.
EXPLAINED_BY_REVERSAL = (AlertKind.RATER_DISAGREES, AlertKind.NEWCOMER_BELOW)


def get_brief_text(alert: Alert, rater: int, *, is_reversed: bool = False) -> str:
    """Return the text of an alert to show beside the name of one of its raters.

    ``rater``: the rater's id. ``is_reversed``: whether the rater answers the scale upside down,
    which is then the text. Kinds of alerts that are about no rater return their whole sentence.
    """
    kind = KINDS[alert.kind]
    if is_reversed and alert.kind in EXPLAINED_BY_REVERSAL:
        return _("answers the scale upside down")
    return kind.brief(alert, rater) if kind.brief else kind.sentence(alert)


def describe_alert(alert: Alert, *, is_reversed: bool = False) -> str:
    """Return the sentence of an alert; that of a reversed rater states the cause."""
    if is_reversed and alert.kind in EXPLAINED_BY_REVERSAL and alert.rater_id is not None:
        text = get_brief_text(alert, alert.rater_id, is_reversed=True)
        return _("%(rater)s %(text)s.") % {"rater": str(alert.rater), "text": text}
    return KINDS[alert.kind].sentence(alert)

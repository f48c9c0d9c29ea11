"""Explanations of columns and marks on pages, one or two sentences each.

The handbook prints these texts, and pages show them translated beside the number. The text of a
coefficient is in its declaration (coefficients/).
"""


def gettext_noop(text: str) -> str:
    """Mark a text for translation and return it unchanged."""
    return text


_ = gettext_noop


def pgettext_noop(_context: str, text: str) -> str:
    """Mark a text for translation in a context and return it unchanged."""
    return text


# Label and description of statistics that are not in registry.COEFFICIENTS.
MEAN_TEXTS: dict[str, tuple[str, str]] = {
    "mean_pairwise_kappa": (
        _("Mean pairwise kappa"),
        _("The mean of all defined pairwise Cohen’s kappas."),
    ),
    "mean_pairwise_kappa_by_items": (
        _("Mean pairwise kappa by shared items"),
        _("The mean of defined Cohen’s kappas, weighted by shared items."),
    ),
    "mean_difference": (
        _("Mean difference"),
        _("How much higher the first rater answers than the second."),
    ),
}
# Labels of forms of coefficients that have a name of their own.
FORM_LABELS: dict[str, str] = {
    "gwet_ac2": _("Gwet’s AC2"),
    "mcnemar_exact": _("McNemar, exact"),
}

# Title and explanation of columns and marks shown with coefficients. TITLE_CONTEXTS: the context
# in which a title is translated.
TITLE_CONTEXTS = {"band": "band of a value"}
TERMS: dict[str, tuple[str, str]] = {
    "interval": (
        _("95% interval"),
        _(
            "The range that held the true value in 96 of 100 simulated studies (ten items, "
            "rare category: 85 to 90)."
        ),
    ),
    "band": (
        pgettext_noop("band of a value", "Label"),
        _(
            "A conventional name for a range. Labels for kappa fit other coefficients only "
            "roughly. “No label”: the value depends on how chance is counted, or fewer than ten "
            "items have rare answers."
        ),
    ),
    "bar": (
        _("Target"),
        _("The value that the whole interval must exceed."),
    ),
    "observed": (
        _("Observed"),
        _("The share of rating pairs that agree; with weights, near misses get partial credit."),
    ),
    "expected": (
        _("By chance"),
        _("Agreement that raters would reach without seeing items."),
    ),
    "rests_on": (
        _("Based on"),
        _("The items or rater pairs that the value compares."),
    ),
    "weights": (
        _("Weights"),
        _(
            "Partial credit for different answers: none, less with each step (linear), "
            "most for near misses (quadratic), or custom."
        ),
    ),
    "p": (
        _("p"),
        _(
            "The probability of at least this difference by chance alone. A small p "
            "doesn’t mean a large difference."
        ),
    ),
    "confusions": (
        _("Most confused answers"),
        _(
            "The share of differing pairs between two categories. By chance alone, frequent "
            "categories are confused more."
        ),
    ),
    "groups": (
        _("People and models"),
        _("The same coefficient among people, among models, and between both."),
    ),
    "impact": (
        _("Impact"),
        _("Expected wrong ratings; near misses count by weight."),
    ),
    "seconds": (_("Seconds per item"), _("Median time of a rater’s newest timed ratings.")),
}

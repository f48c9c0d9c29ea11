"""Generation of docs/statistics.md from the registry:
`python -m metrics.agreement.handbook > docs/statistics.md`.

A test compares the file with render(), so that page and code cannot differ.
"""

import sys
import textwrap

from .coefficients.declaration import Coefficient
from .explain.bands import SCHEMES, Band
from .glossary import TERMS
from .registry import COEFFICIENTS
from .texts import SECTIONS
from .weights import WEIGHTINGS

_INTRODUCTION = """\
# Statistics: what is computed, how sure it is, and when it is undefined

This page is written from the registry of `metrics.agreement`
(`python -m metrics.agreement.handbook`); edit that. Every example is checked by the tests against
the printed value.

## Symbols

Items i, raters g, k **declared** categories in their declared order (never inferred from the
data). n_ij is the number of ratings of item i in category j, m_i their sum over j, n the items
with m_i >= 1, n2 the items with m_i >= 2, M the sum of m_i. W are agreement weights with w_jj = 1
and T_w their sum. Items without a rating and raters without a rating do not exist. `.se`,
`.ci_low` and `.ci_high` follow a name in the report.

Agreement is corrected for chance by **(P_o - P_e) / (1 - P_e)**: what the raters reach beyond
chance, as a share of what they could reach. The coefficients differ in what they call chance.

## Weights

By rank of the declared category: `linear` 1 - |i-j| / (k-1), `quadratic` 1 - ((i-j) / (k-1))^2,
`custom` any symmetric matrix with ones on the diagonal and values in 0..1. On numeric scores,
quadratic weights make weighted kappa of two raters equal to Lin's concordance, and nearly to the
intraclass correlation ICC(A,1): equal only as the number of items grows, not exactly, as is often
said. Scores are the categories' own values, or the mean of a gold score of the items that raters
put in them; page, API (`scores=`) and `manage.py agreement --scores` take both.

## Missing ratings

Any item may have any number of ratings. An item with one rating has no pair to compare: it stays
out of P_o, but its rating is in the pooled margins of `fleiss_kappa` and in the item means of
`fleiss_kappa_gwet`. The two definitions are equal when all items have the same number of ratings;
when they part by more than 0.01, the number of ratings probably depends on the difficulty of the
item, and the page says so. Side by side stand (`explain/missing_ratings.py`): `available`, the
first definition; `by_item`, the second; `complete`, Fleiss' kappa of the items that all raters rated;
and `paired`, alpha, which takes items with two ratings or more and nothing else. Coefficients of
two raters rest on the items that both rated; ICCs and Kendall's W on the items that all raters
rated.

## Intervals

95 %, value -/+ t quantile x standard error, the upper end clipped to 1, the lower end not
clipped. Degrees of freedom: n - 1 for coefficients of many raters, n2 - 1 for alpha, and one less
than the shared items for two raters and for a rater against peers. The last have items as
clusters: ratings of the same item are not taken as independent. Where no analytic standard error
exists, or for a second opinion, the bootstrap resamples items: percentile or BCa, seeded,
undefined replicates dropped and their share told. It draws distinct rating patterns (a
multinomial), which is the same distribution as drawing items and costs the same for ten thousand
items as for ten million.
"""

_UNDEFINED_REASONS = """\
## When there is no value

Undefined is `null` with a reason, never NaN, never an invented 0 or 1. A scale of one category is
refused.

| reason | meaning |
|---|---|
| `no_pairable_items` | no item has two ratings (of the raters in question) |
| `single_category` | all ratings are in one category: chance agreement is 1, nothing is left |
| `too_few_items` | a standard error needs two items (alpha: two items with two ratings) |
| `needs_two_raters` | defined for two raters only, or fewer than two raters rated |
| `needs_2x2` | defined for two categories only |
| `zero_variance` | somebody used a single value, or items do not differ: no correlation |
| `zero_error_variance` | F is infinite: no error variance at all |
| `below_range` | a bound lies where the Spearman-Brown formula or the F quantile makes no sense |
| `needs_complete_items` | no item was rated by all raters |
| `no_discordant_pairs` | the test compares disagreements and there are none |
| `needs_bootstrap` | no analytic standard error exists; the bootstrap gives one |
| `too_many_items` | of ratings in so many items it is not computed on a page; the command does |

When all ratings are in one category of a declared scale of two or more, Cohen, Scott, Fleiss,
Conger and alpha are undefined, but AC1, Brennan-Prediger, PABAK and percent agreement are 1:
their chance agreement does not become 1.
"""


def render_handbook() -> str:
    """Return the page as Markdown."""
    sections = [
        _INTRODUCTION,
        _UNDEFINED_REASONS,
        _render_terms(),
        "## Coefficients\n",
        *map(_render_coefficient, COEFFICIENTS.values()),
    ]
    return "\n".join([*sections, *SECTIONS, _render_bands()])


def _render_terms() -> str:
    """Return the section with the explanations of columns and marks."""
    lines = [wrap_text(f"* **{title}**: {text}", indent="  ") for title, text in TERMS.values()]
    return "\n".join(["## Columns and signs", "", *lines, ""])


def wrap_text(text: str, *, indent: str = "") -> str:
    """Return the text wrapped at 100 columns; `indent` for all lines but the first."""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def _render_coefficient(coefficient: Coefficient) -> str:
    example = coefficient.example
    values = example.value.replace(" ", ", ")
    rows = {
        "names": ", ".join(f"`{key}`" for key in coefficient.list_names(WEIGHTINGS)),
        "range": f"{_format_bound(coefficient.low)} to {_format_bound(coefficient.high)}",
        "undefined": ", ".join(f"`{reason}`" for reason in coefficient.undefined),
        "uncertainty": coefficient.error,
        "source": coefficient.source,
        "example": f"`{example.name}` = {values} ({example.printed_in}; case `{example.case}`)",
    }
    lines = [
        f"### {coefficient.label}",
        "",
        wrap_text(coefficient.description),
        "",
        f"    {coefficient.formula}",
        "",
        *(f"* **{key}**: {text}" for key, text in rows.items()),
    ]
    return "\n".join([*lines, ""])


def _format_bound(bound: float | None) -> str:
    return "unbounded" if bound is None else f"{bound:g}"


def _render_bands() -> str:
    lines = [
        "## Words for values",
        "",
        "Bands are conventions, half-open and without gaps, as their printed tables say; the",
        "probability of a band is given with it where there is a standard error (Gwet's benchmark,",
        "with Student's t of the interval beside it in place of the normal). Landis & Koch,",
        "Fleiss and Altman made their words for kappa, Cicchetti for kappa and the intraclass",
        "correlation, Krippendorff for alpha; of any other coefficient pages and command say that",
        "they are a loose guide. A project chooses its scheme and, if it wants, a bar of its own.",
        "",
        "| scheme | bands |",
        "|---|---|",
    ]
    lines += [
        f"| {scheme} | {'; '.join(map(_format_band, bands))} |" for scheme, bands in SCHEMES.items()
    ]
    return "\n".join([*lines, ""])


def _format_band(band: Band) -> str:
    if band.low == float("-inf"):
        return f"{band.label} below"
    return f"{band.label} {'from' if band.includes_low else 'above'} {band.low:g}"


if __name__ == "__main__":
    sys.stdout.write(render_handbook())

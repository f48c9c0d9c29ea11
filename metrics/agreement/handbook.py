"""Generate docs/statistics.md from the registry of coefficients.

`python -m metrics.agreement.handbook > docs/statistics.md`.

A test compares the file with render_handbook(), so that page and code cannot differ.
"""

import sys
import textwrap

from .coefficients.declaration import Coefficient
from .explain.bands import SCHEMES, Band
from .glossary import TERMS
from .handbook_sections import SECTIONS
from .registry import COEFFICIENTS
from .weights import WEIGHTINGS

_INTRODUCTION = """\
# Statistics: definitions, uncertainty and undefined values

Look up here how Concord computes a statistic, how it estimates the uncertainty, and when a value is
undefined. `python -m metrics.agreement.handbook` writes this page from the registry of
`metrics.agreement`. To change the page, edit the texts there. The tests compare every example with
the printed value.

## Symbols

| symbol | meaning |
|---|---|
| i, g | an item, a rater |
| k | number of **declared** categories, in their declared order; never inferred from the data |
| n_ij | number of ratings of item i in category j |
| m_i | number of ratings of item i: the sum of n_ij over j |
| n, n2 | number of items with m_i >= 1, and with m_i >= 2 |
| M | number of ratings: the sum of m_i |
| W | agreement weights, with w_jj = 1 |
| T_w | sum of all weights |
| `.se`, `.ci_low`, `.ci_high` | endings of a name in the report: standard error, published limits |
| `.low`, `.high` | endings of a name in the report: the interval that pages show |

Items without ratings and raters without ratings are not counted.

Coefficients correct the observed agreement P_o for chance by **(P_o - P_e) / (1 - P_e)**: the
agreement beyond chance, as a share of the largest possible agreement beyond chance. They differ in
their definition of P_e, the agreement expected by chance.

## Weights

Weights define how much two different answers still agree. With i and j the ranks of the declared
categories, they are:

* `linear`: 1 - |i-j| / (k-1)
* `quadratic`: 1 - ((i-j) / (k-1))^2
* `custom`: any symmetric matrix with ones on the diagonal and values in 0..1

On numeric scores, quadratic weights make the weighted kappa of two raters equal to Lin's
concordance correlation coefficient. It is often said that they make it equal to the intraclass
correlation ICC(A,1), too. The two are only nearly equal, and approach each other as the number of
items grows.

Scores are the categories' own values, or the mean gold score of the items that raters put in each
category. The page, the API (`scores=`) and `manage.py agreement --scores` accept both.

## Missing ratings

Items can have any number of ratings. An item with one rating has no pair to compare, so it does not
enter P_o. Its rating still enters the pooled margins of `fleiss_kappa` and the item means of
`fleiss_kappa_gwet`. The two definitions are equal when all items have the same number of ratings.
If they differ by more than 0.01, the number of ratings probably depends on the difficulty of the
item, and the page says so.

Concord shows four rules side by side (`metrics/agreement/explain/headline_differences.py`):

* `available`: Fleiss' kappa with pooled margins
* `by_item`: Fleiss' kappa with margins by item
* `complete`: Fleiss' kappa of the items that all raters rated
* `paired`: Krippendorff's alpha, which uses only items with two or more ratings

Coefficients of two raters use the items that both rated. ICCs and Kendall's W use the items that
all raters rated. ICC(1,1) does not need to know who rated; with fewer than two complete items it is
that of all rated items (`metrics/agreement/coefficients/intraclass/incomplete_icc.py`). For
incomplete designs, report, *All coefficients*, API and `manage.py agreement` also have correlations
from variance components (ten Hove, Jorgensen & van der Ark 2024, Psychological Methods 29,
967-979), which equal the classical forms on complete data. The components come from least squares
fits of items and raters (Henderson's method 3; Searle, Casella & McCulloch 1992), and the intervals
(`.ci_low`, `.ci_high`) are generalized confidence intervals (Weerahandi 1993, JASA 88, 899-905).
For their measured coverage, see the end of this page.

* `icc2_incomplete`: ICC(A,1), `icc3_incomplete`: ICC(C,1), of one rating
* `icc2k_incomplete`: ICC(A,k), of the mean of k ratings, if no two items shared a rater;
  `icc_incomplete_k` is k, the harmonic mean of the ratings per item
* `iccqk_incomplete`: ICC(Q,k), of the mean of an item's ratings as the raters are shared:
  s_i / (s_i + q s_r + s_e / k); `icc_incomplete_q` is q, from 0 (all items have the same raters)
  to 1 / k

Negative components count as 0; with few items ICC(C,1) can therefore be 1.

## Intervals

Every coefficient has two 95% intervals.

**The published interval** (`.ci_low`, `.ci_high` of the report) is value -/+ t quantile x standard
error, as other programs print it. The upper limit is at most 1, and the lower limit can lie below
everything that the coefficient can be. Its degrees of freedom are n - 1 for coefficients of many
raters, n2 - 1 for alpha, and the number of shared items - 1 for two raters and for a rater against
peers, where items are clusters. The standard error comes from the differences between items. Where
few items differ, because a category is rare or nearly all ratings agree, it is far too small or 0.
irrCAC's standard errors take n2 as fixed, so items with a single rating make them too wide.

**The interval shown** (`.low`, `.high`; pages, API, files and charts) is a score interval:

* It contains each value c for which |estimate - c| is at most 1.96 standard errors *under c*, as
  Wilson's interval of a share does. The standard error under c is that of the common correlation
  model: ratings of an item are draws from an urn with the observed shares of the categories
  (Dirichlet-multinomial; beta-binomial for two categories), in which two ratings agree as often as
  c says. It has closed form for every coefficient of counts, with any weights and any numbers of
  ratings (`metrics/agreement/counts/common_correlation.py`). For two categories and two ratings it
  follows Donner & Eliasziw 1992, Statistics in Medicine 11, 1511-1519, and Zou & Donner 2004,
  Biometrics 60, 807-811; for percent agreement it is Wilson 1927, JASA 22, 209-212.
* Items may differ more than the model has it: some are easy and some hard. So its variance is
  multiplied by a dispersion, the square of estimated / model's standard error at the estimate, if
  that is above 1 (quasi-likelihood: Wedderburn 1974, Biometrika 61, 439-447). Quantiles of t would
  make it 7% wider at 10 items and 2% at 50, and are not needed (see the table). Only the mean
  pairwise kappa has them, whose error comes from few raters. The agreement of items is centred at
  its own mean, so single ratings do not widen the interval.
* Where few items differ, the distribution of 1 - value is skewed, which a score limit ignores. So
  the upper limit is at least 1 minus the 5% quantile of the gamma distribution with the mean
  1 - value and the variance at the estimate. Of a count of rare items that differ, this is the
  exact Poisson limit (Garwood 1936, Biometrika 28, 437-442), as in the modified Wilson interval
  (Brown, Cai & DasGupta 2001, Statistical Science 16, 101-133).
* No limit lies outside what the coefficient can be: for kappas 1 - m / (m - 1) with m the smallest
  number of ratings compared (-1 for two), for AC1 and Brennan-Prediger the value at the least
  agreement and the greatest chance, for percent agreement the least agreement that m ratings in k
  categories can have.
* Kappas with a chance by rater (Cohen, Conger, a rater with the others, two groups) have no
  interval where one side uses a single category: kappa is 0 and its standard error 0 whatever the
  other side answers. The reason is `single_category`.

The rater's bias, means of scores, and correlations keep value -/+ t quantile x standard error. ICCs
have F intervals. For the coverage of the intervals, see the end of this page.

If there is no analytic standard error, or if you want a second estimate, use the bootstrap over
items: percentile or BCa, with a fixed seed. Undefined replicates are dropped, and their share is
reported. The bootstrap draws distinct rating patterns from a multinomial distribution. This is
equivalent to drawing items, and costs the same for ten thousand items as for ten million.
"""

_UNDEFINED_REASONS = """\
## Items in clusters

Items of one document, conversation or patient are often alike: in how often raters agree, or in the
categories that occur. The interval of independent items is then too narrow. If you name the
attribute that such items share (*Cluster attribute* in the settings of a project,
`cluster_attribute` of the API, `manage.py agreement --cluster COLUMN`), Concord takes this into
account (`metrics/agreement/counts/wider_intervals.py`):

* The *design effect* D of a coefficient is the ratio of two jackknife variances (Kish 1965, Survey
  Sampling): that of leaving out one cluster at a time, and that of leaving out one item at a time.
  The first is the sandwich estimator by cluster with the small-sample correction of the jackknife
  (Liang & Zeger 1986, Biometrika 73, 13-22; Bell & McCaffrey 2002, Survey Methodology 28, 169-181;
  for kappas Vanbelle 2019, Statistical Methods in Medical Research 28, 3012-3026). D is at least 1.
  Clusters of one item each have D = 1 and change nothing. Where all ratings agree, nothing tells
  how alike items are: D is then the mean size of a cluster, weighted by items.
* The standard error is sqrt(D) times as large. Each end of the interval shown moves
  sqrt(D) t(clusters - 1) / t(items - 1) times as far away on the scale of log(1 - value). The ends
  are then nearly those of the score interval with D times the variance, and stay below 1. Near 1
  they move at most the square of that on their own scale.
* Values, degrees of freedom of published intervals and `.ci_low`, `.ci_high` of the report stay.
* D is computed for each coefficient of all raters and each category. Cohen's kappa, ICCs, values of
  raters, pairs and periods use the D of Fleiss' kappa with the same weights, as if their items
  shared clusters as all items do. This is too wide for a rater with one item of each document.
* Filtered results use the clusters of the selected ratings. Items without the attribute are
  clusters of their own. A change is called clear only if it is so by cluster.
* Alerts take into account that a rater's errors in a cluster are alike: who misreads a document has
  not changed. All ratings of a rater in a cluster count on the last of their days (in clusters of
  more than 90 days, each 90 days have one). Low agreement, newcomers and copies are tested from 6
  clusters on, copies with the variance by cluster. The test of raters who agree less with the
  others than these do with each other sums by cluster, too, and needs 10 of them with a
  disagreement. So an attribute with few values that last for years, such as the language, is no
  cluster.
* With fewer than 6 clusters no interval can be relied on, and pages, API and report say so. With a
  single cluster there is none.

A worker computes D from the ratings after the other results, and not after every rating where this
is slow. For measured coverage, see the end of this page.

## Undefined values

An undefined value is `null` with a reason. It is never NaN, and never an invented 0 or 1. A scale
with a single category is rejected.

| reason | meaning |
|---|---|
| `no_pairable_items` | no item has two ratings (of the raters in question) |
| `single_category` | all ratings are in one category, so chance agreement is 1 |
| `too_few_items` | the standard error needs two items (for alpha: two items with two ratings) |
| `needs_two_raters` | it is defined for two raters only, or fewer than two raters rated |
| `needs_2x2` | it is defined for two categories only |
| `zero_variance` | a rater used a single value, or items do not differ: no correlation |
| `zero_error_variance` | F is infinite because there is no error variance |
| `below_range` | the Spearman-Brown formula or the F quantile is undefined at an interval limit |
| `needs_complete_items` | no item was rated by all raters |
| `no_discordant_pairs` | the test compares disagreements, and there are none |
| `needs_bootstrap` | there is no analytic standard error; use the bootstrap |
| `too_many_items` | there are too many items to compute it on a page; use the command |

When all ratings are in one category of a scale with two or more categories, the coefficients of
Cohen, Scott, Fleiss, Conger and Krippendorff are undefined. AC1, Brennan-Prediger, PABAK and
percent agreement are 1, because their chance agreement does not become 1.
"""

_BANDS_TEXT = (
    "Bands are conventions. They are half-open and without gaps, as in the printed tables. Where "
    "there is an interval, the band that the true value reaches with 95% probability is shown with "
    "it (Gwet's benchmark, with the lower half of the interval in place of 1.96 standard errors). "
    "Landis & Koch, Fleiss and Altman designed their bands for kappa, Cicchetti for kappa and the "
    "intraclass correlation, and Krippendorff for alpha. For other coefficients, pages and command "
    "call the bands a loose guide. You choose the scheme of a project and, if you want, a target."
)


def render_handbook() -> str:
    """Return the handbook page as Markdown."""
    sections = [
        _INTRODUCTION,
        _UNDEFINED_REASONS,
        _render_terms(),
        "## Coefficients\n",
        *map(_render_coefficient, COEFFICIENTS.values()),
    ]
    return "\n".join([*sections, *SECTIONS, _render_bands()])


def _render_terms() -> str:
    """Return the section that explains the columns and marks of pages, as Markdown."""
    lines = [wrap_text(f"* **{title}**: {text}", indent="  ") for title, text in TERMS.values()]
    return "\n".join(["## Columns and marks", "", *lines, ""])


def wrap_text(text: str, *, indent: str = "") -> str:
    """Return the text wrapped at 100 columns, with all lines but the first indented."""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def _render_coefficient(coefficient: Coefficient) -> str:
    example = coefficient.example
    values = example.value.replace(" ", ", ")
    rows = {
        "Names": ", ".join(f"`{key}`" for key in coefficient.list_names(WEIGHTINGS)),
        "Range": f"{_format_bound(coefficient.low)} to {_format_bound(coefficient.high)}",
        "Undefined": ", ".join(f"`{reason}`" for reason in coefficient.undefined),
        "Uncertainty": coefficient.error,
        "Source": coefficient.source,
        "Example": f"`{example.name}` = {values} ({example.printed_in}; case `{example.case}`)",
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
        "## Interpretation bands",
        "",
        wrap_text(_BANDS_TEXT),
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
        return f"below: {band.label}"
    return f"{'from' if band.includes_low else 'above'} {band.low:g}: {band.label}"


if __name__ == "__main__":
    sys.stdout.write(render_handbook())

"""`manage.py agreement FILE.csv`: every coefficient of a file of ratings.

No project and no database is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.agreement import Coefficient
from metrics.agreement.all_statistics import ReportDict, build_report
from metrics.agreement.coefficients.intraclass.incomplete_icc import INCOMPLETE_ICC_NAMES
from metrics.agreement.explain.bands import SCHEMES, find_band, is_designed_for, is_inconclusive
from metrics.agreement.explain.diagnosis import is_band_withheld
from metrics.agreement.explain.headline_differences import MissingDataPolicy
from metrics.agreement.registry import COEFFICIENTS, MEAN_PAIRWISE, iter_coefficients
from metrics.agreement.scales import SCALES
from metrics.agreement.weights import UNWEIGHTED, WEIGHTINGS
from metrics.management import file_statistics, rating_file
from metrics.results.intervals import ClusterDescription, QuestionClusters
from metrics.results.other_weights import ScoredAgreement
from ratings.imports.decoding.encodings import ENCODINGS
from ratings.imports.decoding.table_times import DATE_ORDERS
from ratings.imports.mapping.display_texts import LAYOUT_TEXTS
from ratings.imports.mapping.import_mapping import DUPLICATE_POLICIES, SHEET_CHOICES
from ratings.imports.values.label_notes import LabelNote, format_command_note
from ratings.management.label_arguments import (
    add_label_arguments,
    parse_label_options,
    parse_list_option,
)


class Command(BaseCommand):
    help = (
        "Agreement of the ratings in a file: a table (CSV, Excel workbook, JSON) or the export of "
        "another tool, read as by import_file."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        _add_file_arguments(parser)
        _add_statistic_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the whole report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen_scale = options["scale"]
        options["scale"] = chosen_scale or "nominal"
        try:
            results = _compute_results(options)
        except (rating_file.RatingFileError, ValueError) as error:
            raise CommandError(f"{options['file']}: {error}") from None
        has_numbers = options["values"] is not None or options["matrix"] is not None
        notes = [*results.ratings.notes]
        if not has_numbers:
            notes += results.ratings.list_order_notes(chosen_scale)
        if options["json"]:
            self.stdout.write(json.dumps(_build_json(results, notes), allow_nan=False))
            return
        self.stderr.write("\n  ".join(["understood:", *results.ratings.understood.format_lines()]))
        for note in notes:
            self.stdout.write(f"note: {format_command_note(note.to_json())}")
        for line in _format_results(results, options):
            self.stdout.write(line)


def _add_file_arguments(parser: CommandParser) -> None:
    """Add the file, and the options of how it and its labels are read, to the parser."""
    parser.add_argument(
        "file",
        type=Path,
        help="table or export, optionally gzipped; the first line of a table has the names of "
        "the columns",
    )
    parser.add_argument(
        "--map",
        nargs="+",
        action="extend",
        default=[],
        metavar="ROLE=COLUMN",
        help="role of a column, as for import_file",
    )
    parser.add_argument("--layout", choices=list(LAYOUT_TEXTS), help="as for import_file")
    parser.add_argument(
        "--encoding", choices=list(ENCODINGS), help="encoding of text that is not UTF-8"
    )
    parser.add_argument("--sheets", choices=list(SHEET_CHOICES), help="as for import_file")
    parser.add_argument(
        "--duplicates",
        choices=list(DUPLICATE_POLICIES),
        help="as for import_file; repeat uses the first rating",
    )
    parser.add_argument("--dates", choices=DATE_ORDERS, help="as for import_file")
    parser.add_argument("--rater", metavar="KEY", help="rater of a file that names none")
    parser.add_argument("--question", help="use the rows with this value of column 'question'")
    parser.add_argument(
        "--order",
        help="all categories from lowest to highest, separated by commas; a category with a "
        "comma stands in double quotes",
    )
    add_label_arguments(parser)


def _add_statistic_arguments(parser: CommandParser) -> None:
    """Add the options of the scale and of what is computed to the parser."""
    parser.add_argument(
        "--scale", choices=SCALES, help="which coefficients are printed; nominal by default"
    )
    parser.add_argument("--values", help="a number for each category, separated by commas")
    parser.add_argument(
        "--matrix", help="custom agreement weights as JSON rows, e.g. [[1,0.5],[0.5,1]]"
    )
    parser.add_argument(
        "--weights",
        choices=WEIGHTINGS,
        default=UNWEIGHTED,
        help="the declared weights, which the choice of the headline depends on",
    )
    parser.add_argument(
        "--models",
        help="raters that are models, separated by commas; people are shown separately",
    )
    parser.add_argument(
        "--pair", help="two raters, separated by a comma, to print statistics of the pair"
    )
    parser.add_argument(
        "--cluster",
        metavar="COLUMN",
        help="column (or attribute of the items) that items of one document, conversation or "
        "patient share: intervals take into account that they are alike",
    )
    parser.add_argument(
        "--scores",
        metavar="values|FILE",
        help="agreement on scores: the categories' values, or the means of a gold score of the "
        "items, a CSV of item,score",
    )
    parser.add_argument(
        "--scheme", choices=SCHEMES, default="landis_koch", help="scheme of verbal bands"
    )


@dataclass(frozen=True)
class _FileResults:
    """The results that the command prints for a file; None for those not requested."""

    ratings: rating_file.RatingFile
    report: ReportDict
    headline: ReportDict
    rules: list[MissingDataPolicy]
    pair: file_statistics.PairStatistics | None
    scored: ScoredAgreement | None
    cluster: ClusterDescription | None = None

    def widen_intervals(self, clusters: QuestionClusters) -> _FileResults:
        """Return the results with intervals widened for clusters; those on scores stay."""
        return replace(
            self,
            report=file_statistics.widen_report(self.report, clusters),
            headline=file_statistics.widen_headline(self.headline, clusters),
            rules=file_statistics.widen_rules(self.rules, clusters),
            pair=self.pair and file_statistics.widen_pair(self.pair, clusters),
            cluster=clusters.describe(self.headline["headline"]["name"]),
        )


def _build_json(results: _FileResults, notes: Sequence[LabelNote]) -> ReportDict:
    """Return all results as one JSON object, with what is known about the file and its labels."""
    ratings = results.ratings
    reported_notes: list[Mapping[str, Any]] = [
        {**note.to_json(), "message": format_command_note(note.to_json())} for note in notes
    ]
    if ratings.repeats:
        message = ratings.understood.format_repeats()
        values = {"count": ratings.repeats}
        reported_notes.append({"kind": "repeats", "values": values, "message": message})
    return {
        "categories": ratings.categories,
        "values": ratings.values,
        "raters": ratings.raters,
        "order_basis": ratings.order_basis,
        "missing": ratings.missing,
        "notes": reported_notes,
        "repeats_left_out": ratings.repeats,
        "policies": [vars(rule) for rule in results.rules],
        "pair": results.pair,
        "scored": results.scored,
        "cluster": results.cluster,
        "understood": ratings.understood.to_json(),
        **results.report,
        **results.headline,
    }


def _format_results(results: _FileResults, options: Mapping[str, Any]) -> list[str]:
    """Return all lines of text: the report, clusters, missing ratings, and what was requested."""
    ratings, custom = results.ratings, options["matrix"] is not None
    lines = _format_report(ratings, results.report, options, results.headline, custom=custom)
    lines += file_statistics.format_cluster(results.cluster) if results.cluster else []
    lines += file_statistics.format_missing_data_policies(results.rules)
    lines += file_statistics.format_pair_statistics(results.pair) if results.pair else []
    if results.scored:
        lines += file_statistics.format_score_agreement(results.scored, ratings.categories)
    return lines


def _read_ratings(options: Mapping[str, Any]) -> rating_file.RatingFile:
    """Read the file. Raises RatingFileError, and ValueError for options that do not suit it."""
    ratings = rating_file.read_rating_file(
        options["file"],
        order=parse_list_option("--order", options["order"]) or None,
        labels=parse_label_options(options),
        values=_parse_numbers(options["values"]),
        question=options["question"],
        table=rating_file.TableOptions.from_command(options),
    )
    if options["scale"] == "ratio" and min(ratings.values) < 0:
        raise ValueError(
            f"On a ratio scale values are 0 or more; {min(ratings.values):g} is a value of "
            "the file. Use --scale interval."
        )
    return ratings


def _compute_results(options: Mapping[str, Any]) -> _FileResults:
    """Read the file and compute the results that the options request.

    Raises RatingFileError, and ValueError for options that do not suit the file.
    """
    ratings = _read_ratings(options)
    matrix = None if options["matrix"] is None else _parse_matrix(options["matrix"])
    report = build_report(
        ratings.item,
        ratings.rater,
        ratings.code,
        len(ratings.categories),
        values=ratings.values,
        weight_matrix=matrix,
    )
    models = _split_list(options["models"]) or []
    kind = {"scale": options["scale"], "weights": options["weights"], "matrix": matrix}
    headline = file_statistics.compute_file_headline(ratings, models=models, **kind)
    scale = file_statistics.build_scale(ratings, **kind)
    results = _FileResults(
        ratings,
        report,
        headline,
        scale.compute_by_policy(ratings.patterns, len(ratings.raters)),
        file_statistics.compute_pair_statistics(ratings, options["pair"], scale)
        if options["pair"]
        else None,
        file_statistics.compute_file_score_agreement(ratings, options["scores"])
        if options["scores"]
        else None,
    )
    if not options["cluster"]:
        return results
    clusters = file_statistics.compute_cluster_effects(
        ratings, scale, options["cluster"], models=models
    )
    return results.widen_intervals(clusters)


def _split_list(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _parse_numbers(text: str | None) -> list[float] | None:
    parts = _split_list(text)
    try:
        return None if parts is None else [float(part) for part in parts]
    except ValueError:
        raise ValueError(f"--values must be numbers separated by commas, not {text!r}") from None


def _parse_matrix(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--matrix is no JSON: {error}") from None


def _format_report(
    ratings: rating_file.RatingFile,
    report: ReportDict,
    options: Mapping[str, Any],
    file_headline: ReportDict,
    *,
    custom: bool,
) -> list[str]:
    """Return the lines of text: sample sizes, headline, then one line for each coefficient."""
    lines = [
        f"{file_statistics.format_count(report['n_items'], 'item')}, "
        f"{file_statistics.format_count(report['n_raters'], 'rater')}, "
        f"{file_statistics.format_count(report['n_ratings'], 'rating')}; "
        f"{file_statistics.format_count(report['n_pairable_items'], 'item')} "
        "with two or more ratings",
        f"categories: {file_statistics.format_categories(ratings.categories)}",
    ]
    if ratings.repeats:
        lines.append(
            f"{ratings.repeats} earlier ratings of the same item by the same rater are left out"
        )
    lines += ["", *_format_headline(file_headline), ""]
    patterns = ratings.patterns
    withheld = ratings.item.size > 0 and is_band_withheld(patterns.counts, patterns.n_items)
    scheme = None if withheld else options["scheme"]
    for name, entry in iter_coefficients(scale=options["scale"], custom=custom):
        if _is_listed(name, report):
            lines.append(_format_coefficient(name, entry, report, scheme))
    is_complete = report["n_ratings"] == report["n_items"] * report["n_raters"]
    if SCALES[options["scale"]].numeric and not is_complete:
        lines += [
            _format_coefficient(name, COEFFICIENTS["icc2"], report, None)
            for name in INCOMPLETE_ICC_NAMES
        ]
    if withheld:
        lines.append("no bands: the definitions differ, or a category is too rare")
    if any(line.endswith(" *") for line in lines):
        lines.append(f"* the bands of {options['scheme']} were defined for another coefficient")
    return lines


_GROUP_LABELS = {"people": "people", "models": "models", "people_models": "people with models"}


def _format_headline(file_headline: ReportDict) -> list[str]:
    """Return the lines on the headline; also on people and models where models rated."""
    estimate = file_headline["headline"]
    lines = [
        f"read first: {estimate['name']} ({file_statistics.REASON_TEXTS[estimate['why']]})",
        f"  {file_statistics.format_value_with_interval(estimate)}",
    ]
    if estimate["unweighted"] is not None:
        value = file_statistics.format_value_with_interval(estimate["unweighted"])
        lines.append(f"  without weights {value}")
    if estimate["observed"] is not None and estimate["expected"] is not None:
        lines.append(
            f"  observed agreement {estimate['observed']:.3f}, by chance {estimate['expected']:.3f}"
        )
    if file_headline["n_models"]:
        lines += [
            f"  {label:<20} {file_statistics.format_value_with_interval(file_headline[name])}"
            for name, label in _GROUP_LABELS.items()
        ]
    return lines


def _is_listed(name: str, report: ReportDict) -> bool:
    """Return whether a coefficient gets a line: not if it is for two raters, and there are more."""
    return report.get(f"{name}.reason") != "needs_two_raters" or report["n_raters"] < 2


def _format_coefficient(
    name: str, entry: Coefficient, report: ReportDict, scheme: str | None
) -> str:
    """Return the line of a coefficient; without a band if ``scheme`` is None."""
    value = report[name]
    # The name in the API and on pages; the keys of report() keep their names.
    label = name.replace("light_kappa", MEAN_PAIRWISE)
    if isinstance(value, list):
        text = "  ".join("-" if item is None else f"{item:.3f}" for item in value)
        return f"{label:<32} {text}"
    if value is None:
        return f"{label:<32} undefined: {report[f'{name}.reason']}"
    # Intraclass correlations have F intervals alone.
    low, high = (
        report.get(f"{name}.{end}", report.get(f"{name}.ci_{end}")) for end in ("low", "high")
    )
    interval = (
        ""
        if low is None or high is None
        else f"[{file_statistics.format_number(low)}, {file_statistics.format_number(high)}]"
    )
    value = round(value, 3) + 0.0  # turns -0.0 into 0.0
    band = (
        find_band(value, scheme)
        if scheme and entry.chance_corrected and entry.report_format != "value"
        else None
    )
    text_after = ""
    if scheme and band and is_inconclusive(report["n_pairable_items"], low, high, scheme):
        text_after = "not enough data"
    elif scheme and band:
        text_after = band.label + ("" if is_designed_for(name, scheme) else " *")
    if entry.report_format in ("test", "2x2 test"):
        text_after = file_statistics.format_test(name.removesuffix(".chi2"), report)
    if report.get(f"{name}.low.reason") == "single_category":
        text_after = "no interval: a rater used a single category"
    if name == "kappa_max":
        text_after = "the most that these margins allow"
    return f"{label:<32} {value:7.3f}  {interval:<18} {text_after}".rstrip()

"""`manage.py agreement FILE.csv`: every coefficient of a file of ratings, without a project or a
database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.agreement import Coefficient
from metrics.agreement.explain.bands import SCHEMES, band_of, fits
from metrics.agreement.registry import MEAN_PAIRWISE, listed
from metrics.agreement.report import report_ratings
from metrics.agreement.scales import SCALES
from metrics.agreement.weights import NONE, WEIGHTINGS
from metrics.management import file_statistics, rating_file
from metrics.management.file_headline import WHYS, first_number, scale_of


class Command(BaseCommand):
    help = (
        "Agreement of the ratings in a CSV file: "
        "item,rater,label and, if you like, timestamp and question."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            help="CSV in UTF-8, perhaps packed with gzip; its first line names the columns",
        )
        parser.add_argument("--question", help="take the rows whose column 'question' says this")
        parser.add_argument(
            "--scale", choices=SCALES, default="nominal", help="what is printed as making sense"
        )
        parser.add_argument(
            "--order", help="all categories from lowest to highest, separated by commas"
        )
        parser.add_argument("--values", help="a number for each category, separated by commas")
        parser.add_argument(
            "--matrix", help="custom agreement weights as JSON rows, e.g. [[1,0.5],[0.5,1]]"
        )
        parser.add_argument(
            "--weights",
            choices=WEIGHTINGS,
            default=NONE,
            help="the weights that were declared: with them the first coefficient is chosen",
        )
        parser.add_argument(
            "--models",
            help="raters who are models, separated by commas: they are told apart from the people",
        )
        parser.add_argument(
            "--pair", help="two raters, separated by a comma: what is known of these two, too"
        )
        parser.add_argument(
            "--scores",
            metavar="values|FILE",
            help="agreement on scores: the categories' values, or the means of a gold score of the "
            "items, a CSV of item,score",
        )
        parser.add_argument(
            "--scheme", choices=SCHEMES, default="landis_koch", help="whose words for values"
        )
        parser.add_argument("--json", action="store_true", help="the whole report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            ratings = rating_file.read(
                options["file"],
                order=_listed(options["order"]),
                values=_numbers(options["values"]),
                question=options["question"],
            )
            matrix = None if options["matrix"] is None else _matrix(options["matrix"])
            columns = (ratings.item, ratings.rater, ratings.code)
            k = len(ratings.categories)
            found = report_ratings(*columns, k, values=ratings.values, weight_matrix=matrix)
            first = first_number(
                ratings,
                scale=options["scale"],
                weights=options["weights"],
                matrix=matrix,
                models=_listed(options["models"]) or [],
            )
            numbers = scale_of(
                ratings, scale=options["scale"], weights=options["weights"], matrix=matrix
            )
            rules = file_statistics.missing_rules(ratings, numbers)
            pair = None
            if options["pair"]:
                pair = file_statistics.two_raters(ratings, options["pair"], numbers)
            scored = None
            if options["scores"]:
                scored = file_statistics.scored(ratings, options["scores"])
        except (rating_file.BadFile, ValueError) as error:
            raise CommandError(f"{options['file']}: {error}") from None
        if options["json"]:
            about = {
                "categories": ratings.categories,
                "values": ratings.values,
                "raters": ratings.raters,
            }
            more = {"repeats_left_out": ratings.repeats, "policies": rules, "pair": pair}
            more["scored"] = scored
            self.stdout.write(json.dumps(about | more | found | first, allow_nan=False))
            return
        lines = _lines(ratings, found, options, first, custom=matrix is not None)
        lines += file_statistics.rule_lines(rules)
        lines += file_statistics.pair_lines(pair) if pair else []
        lines += file_statistics.scored_lines(scored, ratings.categories) if scored else []
        for line in lines:
            self.stdout.write(line)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _numbers(text: str | None) -> list[float] | None:
    parts = _listed(text)
    try:
        return None if parts is None else [float(part) for part in parts]
    except ValueError:
        raise ValueError(f"--values must be numbers separated by commas, not {text!r}") from None


def _matrix(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--matrix is no JSON: {error}") from None


def _lines(
    ratings: rating_file.RatingFile,
    found: dict[str, Any],
    options: dict[str, Any],
    first: dict[str, Any],
    *,
    custom: bool,
) -> list[str]:
    """What a person reads: what it rests on, what to read first, then one line a coefficient."""
    lines = [
        f"{_n(found['n_items'], 'item')}, {_n(found['n_raters'], 'rater')}, "
        f"{_n(found['n_ratings'], 'rating')}; "
        f"{_n(found['n_pairable_items'], 'item')} with two or more ratings",
        f"categories: {', '.join(ratings.categories)}",
    ]
    if ratings.repeats:
        lines.append(
            f"{ratings.repeats} earlier ratings of the same item by the same rater are left out"
        )
    lines += ["", *_first_lines(first), ""]
    for name, entry in listed(scale=options["scale"], custom=custom):
        if _asked(name, found):
            lines.append(_line(name, entry, found, options["scheme"]))
    if any(line.endswith(" *") for line in lines):
        lines.append(f"* words of {options['scheme']} were made for another coefficient")
    return lines


_OF = {"people": "people", "models": "models", "people_models": "people with models"}


def _first_lines(first: dict[str, Any]) -> list[str]:
    """The coefficient to read first and why, and the same of people and models where both rated."""
    told = first["headline"]
    lines = [f"read first: {told['name']} ({WHYS[told['why']]})", f"  {file_statistics.told(told)}"]
    if told["observed"] is not None and told["expected"] is not None:
        lines.append(
            f"  observed agreement {told['observed']:.3f}, by chance {told['expected']:.3f}"
        )
    if first["n_models"]:
        lines += [
            f"  {words:<20} {file_statistics.told(first[name])}" for name, words in _OF.items()
        ]
    return lines


def _n(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _asked(name: str, found: dict[str, Any]) -> bool:
    """Coefficients of exactly two raters are not listed for more."""
    return found.get(f"{name}.reason") != "needs_two_raters" or found["n_raters"] < 2


def _line(name: str, entry: Coefficient, found: dict[str, Any], scheme: str) -> str:
    value = found[name]
    # As the API and the pages call it; the keys of report() keep their names.
    called = name.replace("light_kappa", MEAN_PAIRWISE)
    if isinstance(value, list):
        text = "  ".join("-" if one is None else f"{one:.3f}" for one in value)
        return f"{called:<32} {text}"
    if value is None:
        return f"{called:<32} undefined: {found[f'{name}.reason']}"
    low, high = found.get(f"{name}.ci_low"), found.get(f"{name}.ci_high")
    interval = "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"
    value = round(value, 3) + 0.0  # -0.000 is 0.000, and is called so
    said = band_of(value, scheme) if entry.corrected and entry.told != "value" else None
    words = said.words + ("" if fits(name, scheme) else " *") if said else ""
    if entry.told in ("test", "2x2 test"):
        words = _p(name.removesuffix(".chi2"), found)
    if name == "kappa_max":
        words = "the most that these margins allow"
    return f"{called:<32} {value:7.3f}  {interval:<18} {words}".rstrip()


def _p(test: str, found: dict[str, Any]) -> str:
    """Degrees of freedom and p of a test."""
    p = found[f"{test}.p"]
    return f"df {found.get(f'{test}.df', 1):.0f}, {file_statistics.p_value(p)}"

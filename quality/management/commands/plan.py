"""Command ``manage.py plan``: items that a study takes, or that a project still needs."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.models import Question
from quality.planning import sample_size as planning_sample_size


class Command(BaseCommand):
    help = (
        "Print how many more items a question needs until its kappa is known to a half-width"
        " (plan PROJECT), or how many a study of two raters takes (--kappa .6 --prevalence .3)."
        " So many items reach the half-width in 9 of 10 such studies."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, nargs="?", help="id of a project with ratings")
        parser.add_argument("--question", help="key; default: all questions")
        parser.add_argument(
            "--half-width", type=float, default=0.05, help="half-width of kappa's interval"
        )
        parser.add_argument("--kappa", type=float, help="expected kappa, before a study")
        parser.add_argument(
            "--prevalence",
            help="share of one of two categories, or shares of all, as in 0.5,0.3,0.2",
        )
        parser.add_argument("--cost", type=float, help="cost of one rating")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            rows = _plan_project(options) if options["project"] else _plan_study(options)
        except ValueError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(rows))
            return
        for row in rows:
            self.stdout.write(", ".join(f"{name} {value}" for name, value in row.items()))


def _plan_project(options: dict[str, Any]) -> list[dict[str, object]]:
    questions = Question.objects.filter(project=options["project"])
    if options["question"]:
        questions = questions.filter(key=options["question"])
    if not questions:
        raise CommandError("There is no such question: check the project's id and --question.")
    rows = []
    for question in questions.prefetch_related("categories"):
        plan = planning_sample_size.plan_sample_size(question, [options["half_width"]])
        (width,) = plan.widths
        row: dict[str, object] = {"question": question.key, "coefficient": plan.name}
        row |= {"items": width.items, "more": width.more, "expected": width.expected}
        if width.items is not None and plan.is_pilot_too_small:
            row["rate_first"] = plan.pilot_items
        if plan.clusters is not None:
            row |= {"cluster": plan.clusters.attribute, "design_effect": plan.design_effect}
        rows.append(row)
    return rows


def _plan_study(options: dict[str, Any]) -> list[dict[str, object]]:
    if options["kappa"] is None or options["prevalence"] is None:
        raise CommandError("Give the id of a project, or --kappa and --prevalence of a study.")
    shares = [float(part) for part in options["prevalence"].split(",")]
    study = planning_sample_size.plan_study(
        kappa=options["kappa"],
        prevalence=shares[0] if len(shares) == 1 else shares,
        half_width=options["half_width"],
        cost=options["cost"],
    )
    row: dict[str, object] = {"items": study.items, "ratings": study.ratings}
    return [row if study.cost is None else {**row, "cost": study.cost}]

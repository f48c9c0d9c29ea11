"""`manage.py simulate`: a stream of ratings with known drift."""

from __future__ import annotations

import csv
import datetime
import json
import sys
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.example import streams

PREVALENCE = {"ordinal": "0.35,0.25,0.2,0.12,0.08", "nominal": "0.4,0.3,0.2,0.1"}
NOISE = {"ordinal": 0.85, "nominal": 0.2}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Command(BaseCommand):
    help = (
        "Write simulated ratings as CSV (item,rater,label,rated_at and, with --gold, gold), with "
        "known drift, cheats and wrong gold. The same options and seed give the same file. "
        "Raters are numbered from 1, working days from 0."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seed", type=int, default=1, help="default 1")
        parser.add_argument(
            "--scale", choices=PREVALENCE, default="ordinal", help="default ordinal"
        )
        parser.add_argument(
            "--prevalence",
            help="shares of the categories 1, 2, ..., separated by commas; "
            "0.85,0.15 is a rare binary question",
        )
        self._add_size_arguments(parser)
        self._add_planted_arguments(parser)
        parser.add_argument("--output", type=Path, help="the CSV file; else standard output")
        parser.add_argument(
            "--truth",
            type=Path,
            help="a JSON file with the simulated drift, cheats and wrong gold answers",
        )

    def _add_size_arguments(self, parser: CommandParser) -> None:
        plan = streams.StreamPlan()
        for name, default, text in (
            ("--raters", plan.raters, "raters"),
            ("--days", plan.days, "working days, five a week"),
            ("--a-day", plan.a_day, "items that each rater gets a day"),
            ("--per-item", plan.per_item, "ratings of an item"),
            ("--document", plan.document, "alike items that come together to the same raters"),
        ):
            parser.add_argument(name, type=int, default=default, help=f"{text}; default {default}")
        parser.add_argument(
            "--noise",
            type=float,
            help="spread of the answers in ranks (default 0.85), or on a nominal scale the share "
            "of wrong ones (default 0.2)",
        )
        for name, share, text in (
            ("--uneven", plan.uneven, "how much difficulty differs between documents and weeks"),
            ("--missing", plan.missing, "share of the ratings that never come"),
            ("--come-and-go", plan.come_and_go, "share of the days that raters may be away"),
        ):
            parser.add_argument(name, type=float, default=share, help=f"{text}; default {share}")

    def _add_planted_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--drift",
            action="append",
            default=[],
            metavar="RATER:KIND:SIZE:DAY[:OVER]",
            help="KIND bias: answers move by SIZE ranks on average; kappa: agreement falls by "
            "SIZE; from DAY on, growing over OVER days. May be given again, e.g. 5:bias:-0.3:40",
        )
        parser.add_argument(
            "--cheat",
            action="append",
            default=[],
            metavar="RATER:KIND[:DAY]",
            help="KIND constant: always the most frequent answer; guess: any; from DAY on. "
            "May be given again",
        )
        parser.add_argument(
            "--gold", type=float, default=0.0, help="share of the items with a gold answer"
        )
        parser.add_argument(
            "--wrong-gold", type=float, default=0.0, help="share of the gold answers that are wrong"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            plan = _build_plan(options)
            stream = streams.simulate_stream(plan, options["seed"])
        except ValueError as error:
            raise CommandError(str(error)) from None
        if options["output"] is None:
            _write_csv(self.stdout, stream, plan)
        else:
            with options["output"].open("w", encoding="utf-8", newline="") as file:
                _write_csv(file, stream, plan)
        if options["truth"] is not None:
            options["truth"].write_text(json.dumps(_build_truth(stream, plan), indent=1) + "\n")
        sys.stderr.write(f"{stream.item.size} ratings\n")


def _build_plan(options: dict[str, Any]) -> streams.StreamPlan:
    scale = options["scale"]
    return streams.StreamPlan(
        raters=options["raters"],
        days=options["days"],
        a_day=options["a_day"],
        per_item=options["per_item"],
        ordered=scale == "ordinal",
        prevalence=_parse_numbers(options["prevalence"] or PREVALENCE[scale]),
        noise=NOISE[scale] if options["noise"] is None else options["noise"],
        document=options["document"],
        uneven=options["uneven"],
        missing=options["missing"],
        come_and_go=options["come_and_go"],
        drifts=tuple(_parse_drift(text) for text in options["drift"]),
        cheats=tuple(_parse_cheat(text) for text in options["cheat"]),
        gold=options["gold"],
        wrong_gold=options["wrong_gold"],
    )


def _parse_numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"--prevalence must be numbers separated by commas, not {text!r}"
        ) from None


def _parse_drift(text: str) -> streams.SimulatedDrift:
    try:
        rater, kind, size, since, *over = text.split(":")
        days = int(over[0]) if over else 0
        return streams.SimulatedDrift(int(rater) - 1, kind, float(size), int(since), days)
    except ValueError:
        raise ValueError(
            f"--drift must be RATER:KIND:SIZE:DAY[:OVER], e.g. 5:bias:-0.3:40, not {text!r}"
        ) from None


def _parse_cheat(text: str) -> streams.SimulatedCheat:
    try:
        rater, kind, *since = text.split(":")
        return streams.SimulatedCheat(int(rater) - 1, kind, int(since[0]) if since else 0)
    except ValueError:
        raise ValueError(
            f"--cheat must be RATER:KIND[:DAY], e.g. 3:constant:20, not {text!r}"
        ) from None


def _write_csv(
    file: IO[str] | Any, stream: streams.SimulatedStream, plan: streams.StreamPlan
) -> None:
    """Write the ratings as CSV, in the order of their times."""
    writer = csv.writer(file, lineterminator="\n")
    has_gold = plan.gold > 0
    writer.writerow(["item", "rater", "label", "rated_at", *(["gold"] if has_gold else [])])
    seconds = stream.date * 86_400 + stream.second
    for row in seconds.argsort(kind="stable").tolist():
        time = EPOCH + datetime.timedelta(seconds=int(seconds[row]))
        item = int(stream.item[row])
        cells = [
            _format_item_key(item),
            _format_rater_key(int(stream.rater[row])),
            str(stream.code[row] + 1),
        ]
        cells.append(time.strftime("%Y-%m-%dT%H:%M:%SZ"))
        if has_gold:
            cells.append("" if stream.gold[item] < 0 else str(stream.gold[item] + 1))
        writer.writerow(cells)


def _format_item_key(number: int) -> str:
    return f"item-{number + 1:06}"


def _format_rater_key(number: int) -> str:
    return f"rater{number + 1:02}"


def _format_day(working_day: int) -> str:
    """Return the date of a working day, whose number counts from EPOCH, as ISO text."""
    return str(
        (EPOCH + datetime.timedelta(days=int(streams.convert_working_days(working_day)))).date()
    )


def _build_truth(stream: streams.SimulatedStream, plan: streams.StreamPlan) -> dict[str, object]:
    drifts = [
        {
            "rater": _format_rater_key(drift.rater),
            "kind": drift.kind,
            "size": drift.size,
            "since": _format_day(drift.since),
            "over_working_days": drift.over,
        }
        for drift in plan.drifts
    ]
    cheats = [
        {
            "rater": _format_rater_key(cheat.rater),
            "kind": cheat.kind,
            "since": _format_day(cheat.since),
        }
        for cheat in plan.cheats
    ]
    wrong_gold = [_format_item_key(number) for number in stream.wrong_gold.nonzero()[0].tolist()]
    categories = [str(number + 1) for number in range(plan.k)]
    return {"categories": categories, "drifts": drifts, "cheats": cheats, "wrong_gold": wrong_gold}

"""One rating in each of many small projects: how long until all of them are final, and what one
costs.

    python tests/tools/with_services.py --postgres python benchmarks/bench_many_questions.py [--projects 1000]
    [--workers 2] [--audit]

Uses the database of DATABASE_URL, else a temporary SQLite file. Every project has one question of
five categories with 15 ratings (5 items of 3 raters), counted and read. Then one rating of each
changes, and workers that know nothing of each other, each a process, sweep until nothing is left.
Final means: nothing uncounted, nothing unread, no reading put off. The processor time is that of
the workers; what the database server takes comes on top. --audit: how many rounds the automatic
audit takes until it has seen each, and how long one takes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import resource
import subprocess
import sys
import time
from typing import Any

import large_project
import numpy as np

ITEMS, RATERS, LABELS = 5, 3, 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)  # as a worker
    options = parser.parse_args()
    with large_project.database():
        if options.work:
            work()
            return
        from django.db import connection

        print(f"{connection.vendor}: {options.projects} projects of {ITEMS * RATERS} ratings")
        questions = make_projects(options.projects)
        print("\n| | workers | all final, s | questions/s | processor of workers, ms a question |")
        print("|---|---|---|---|---|")
        for what, workers in (("from nothing", options.workers), ("one changed", options.workers)):
            if what == "one changed":
                change_one_each(questions)
            report(what, workers, options.projects)
        if options.audit:
            report_audits(options.projects)


def report(what: str, workers: int, projects: int) -> None:
    command, pipe = [sys.executable, __file__, "--work"], subprocess.PIPE
    running = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _number in range(workers)
    ]
    for process in running:
        assert process.stdout
        process.stdout.readline()  # ready
    started = time.perf_counter()
    for process in running:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [json.loads(process.communicate()[0]) for process in running]
    took = max(one["ended"] for one in said) - started
    spent = sum(one["processor"] for one in said) / projects * 1000
    print(f"| {what} | {workers} | {took:.1f} | {projects / took:.0f} | {spent:.1f} |", flush=True)


def report_audits(projects: int) -> None:
    from metrics.integrity import schedule
    from metrics.models import AuditResult

    every, schedule.EVERY = schedule.EVERY, datetime.timedelta(0)
    AuditResult.objects.all().delete()
    took: list[float] = []
    while AuditResult.objects.count() < projects:
        started = time.perf_counter()
        assert schedule.audit_some()
        took.append(time.perf_counter() - started)
    hours = len(took) * every.total_seconds() / 3600
    print(f"\n| {projects} questions audited | rounds | of a round p50, max, s | in hours |")
    print("|---|---|---|---|")
    differing = AuditResult.objects.filter(differences__gt=0)
    print(
        f"| {differing.count()} of them differ | {len(took)} | {np.median(took):.2f}, {max(took):.2f} | "
        f"{hours:.1f} |"
    )
    for result in differing:
        print(f"question {result.question_id}: {'; '.join(result.shown)}")


def work() -> None:
    """A worker: a process of its own, which sweeps until nothing waits."""
    from metrics.jobs import question_updates

    question_updates.waiting_questions()  # connected, and all is imported
    print("ready", flush=True)
    sys.stdin.readline()
    before = processor_time()
    while question_updates.waiting_questions():
        question_updates.count_waiting()
    ended = time.perf_counter()  # the machine's clock on Linux: the same for all processes
    print(json.dumps({"ended": ended, "processor": processor_time() - before}))


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def make_projects(number: int) -> list[Any]:
    """That many projects with uncounted ratings; their questions."""
    from projects.models import Category, Item, Project, Question, Rater

    projects = Project.objects.bulk_create(
        Project(name=f"project {place}") for place in range(number)
    )
    questions = Question.objects.bulk_create(
        Question(project=project, key="q", text="Which?", scale="ordinal") for project in projects
    )
    Category.objects.bulk_create(
        Category(question=question, code=code, label=str(code), position=code, value=code)
        for question in questions
        for code in range(LABELS)
    )
    Item.objects.bulk_create(
        Item(project=project, key=f"i{place}", body={})
        for project in projects
        for place in range(ITEMS)
    )
    Rater.objects.bulk_create(
        Rater(project=project, key=f"r{place}") for project in projects for place in range(RATERS)
    )
    rate(questions, items=ITEMS)
    return questions


def rate(questions: list[Any], *, items: int) -> None:
    """Each rater of each project rates that many of its items, by chance."""
    from projects.models import Item, Rater
    from ratings.services.judgement import Judgement
    from ratings.services.record import record

    rng = np.random.default_rng(len(questions))
    of_items = of_project(Item)
    of_raters = of_project(Rater)
    now = datetime.datetime.now(datetime.UTC)
    for question in questions:
        rows = [
            Judgement(item, rater, int(rng.integers(LABELS)), rated_at=now)
            for item in of_items[question.project_id][:items]
            for rater in of_raters[question.project_id]
        ]
        record({question: rows}, by=None, source="import")


def of_project(model: Any) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pk, project in model.objects.order_by("pk").values_list("pk", "project_id"):
        found.setdefault(project, []).append(pk)
    return found


def change_one_each(questions: list[Any]) -> None:
    """One rating of each project says another category."""
    from ratings.models import Rating
    from ratings.services.judgement import Judgement
    from ratings.services.record import record

    by_question = {row.question_id: row for row in Rating.objects.order_by("-pk")}
    for question in questions:
        row = by_question[question.pk]
        new = Judgement(row.item_id, row.rater_id, (row.code + 1) % LABELS)
        record({question: [new]}, by=None, source="api")


if __name__ == "__main__":
    main()

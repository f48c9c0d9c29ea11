"""Time of the list of projects, of a lead of all of them.

    python benchmarks/bench_project_list.py [--projects 200,10000] [--rated 200] [--times 20]

It uses the database of DATABASE_URL, which it does not empty, else a temporary SQLite file. The
first projects, --rated of them, have ratings and results, as in bench_many_questions.py; the others
are empty. Requests are made in this process, one after the other.
"""

from __future__ import annotations

import argparse
from typing import Any

import bench_many_questions
import bench_pages
import large_project


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", default="200,10000")
    parser.add_argument("--rated", type=int, default=200)
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    with large_project.open_database():
        from django.contrib.auth.models import User
        from django.test import Client

        from metrics.jobs import question_updates

        bench_many_questions.create_projects(options.rated)
        while question_updates.list_pending_questions():
            question_updates.update_pending_questions()
        lead = User.objects.create_user("bench-lead")
        client = Client(headers={"host": "localhost"})
        client.force_login(lead)
        print("| projects | queries | kB | median, ms | p95, ms | CPU, ms |")
        print("|---|---|---|---|---|---|")
        for number in map(int, options.projects.split(",")):
            add_projects(number, lead)
            row = bench_pages.measure_url(client, "/", options.times)
            print(
                f"| {number:,} | {row[0]} | {row[1]:.0f} | {row[2]:.0f} | {row[3]:.0f} | "
                f"{row[4]:.0f} |",
                flush=True,
            )


def add_projects(number: int, lead: Any) -> None:
    """Create empty projects until there are ``number``, and let the lead lead all of them."""
    from projects.models import Member, Project, Question

    n_missing = max(0, number - Project.objects.count())
    projects = Project.objects.bulk_create(
        Project(name=f"empty project {index}") for index in range(n_missing)
    )
    Question.objects.bulk_create(
        Question(project=project, key="q", text="Which?", scale="ordinal") for project in projects
    )
    Member.objects.bulk_create(
        Member(project=project, user=lead, role=Member.Role.LEAD)
        for project in Project.objects.exclude(members__user=lead)
    )


if __name__ == "__main__":
    main()

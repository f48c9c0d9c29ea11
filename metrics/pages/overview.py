"""All questions of a project side by side: what its address shows where there are several and it
names none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from groundwork import table_files
from projects.models import Member, Question

from . import getting_started, live, question_rows

TITLE = "questions-title"  # of the table, by which its file is asked for


def is_asked(request: HttpRequest) -> bool:
    """Whether the address says nothing but the project. Whatever it says more is of the dashboard
    of one question; so is one that was opened when there was one, and now asks what is new."""
    said = request.GET.dict()
    return said in ({}, {table_files.PARAMETER: TITLE}) and not live.asks(request)


def page(request: HttpRequest, project: Any, questions: Sequence[Question]) -> HttpResponse:
    rows = question_rows.of_project(project, questions)
    furthest = max((row.reading for row in rows), key=getting_started.n_double)
    context = {
        "project": project,
        "rows": rows,
        "title": TITLE,
        "loose": any(row.loose for row in rows),
        "steps": getting_started.steps(project, furthest),
        "may_add": project.role == Member.Role.LEAD and not project.archived_at,
    }
    return render(request, "metrics/overview.html", context)

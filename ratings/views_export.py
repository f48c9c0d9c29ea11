"""The way out: the standing ratings as CSV or as JSON Lines, streamed."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from projects.access import get_project
from projects.models import Category, Member, Project, Question

from .importing.formulas import guard
from .models import Rating

NAMES = ("item", "rater", "question", "label", "rated_at", "comment", "guidelines")
AT_ONCE = 2000  # rows fetched, and lines sent, at a time

Row = tuple[str, str, str, str, datetime.datetime, str, int | None]


@login_required
@require_GET
def export_csv(request: HttpRequest, project_id: int) -> StreamingHttpResponse:
    project, questions = _asked(request, project_id)
    return _download(_csv_lines(_rows(questions)), project, kind="csv", content_type="text/csv; charset=utf-8")


@login_required
@require_GET
def export_jsonl(request: HttpRequest, project_id: int) -> StreamingHttpResponse:
    project, questions = _asked(request, project_id)
    return _download(_json_lines(_rows(questions)), project, kind="jsonl", content_type="application/jsonl")


def _asked(request: HttpRequest, project_id: int) -> tuple[Project, list[Question]]:
    """The project and its questions, or the one that ``?question=KEY`` names."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    key = request.GET.get("question")
    if key is None:
        return project, list(project.questions.all())
    return project, [get_object_or_404(project.questions, key=key)]


def _rows(questions: Iterable[Question]) -> Iterator[Row]:
    """NAMES of the ratings that stand, in a fixed order; plain values, no objects, some at a time."""
    for question in questions:
        labels = dict(Category.objects.filter(question=question).values_list("code", "label"))
        columns = ("item__key", "rater__key", "code", "rated_at", "comment", "guidelines")
        ratings = Rating.objects.standing().filter(question=question).order_by("item_id", "rater_id")
        for item, rater, code, *rest in ratings.values_list(*columns).iterator(chunk_size=AT_ONCE):
            yield item, rater, question.key, labels[code], *rest


def _csv_lines(rows: Iterable[Row]) -> Iterator[str]:
    yield ",".join(NAMES) + "\r\n"
    cell = functools.lru_cache(maxsize=50_000)(_cell)
    for item, rater, question, label, rated_at, comment, guidelines in rows:
        said = _cell(comment) if comment else ""
        key = f"{cell(item)},{cell(rater)},{cell(question)}"
        yield f"{key},{cell(label)},{_moment(rated_at)},{said},{guidelines or ''}\r\n"


def _cell(text: str) -> str:
    """A cell that no spreadsheet runs as a formula, quoted where its text could be taken for something else."""
    safe = guard(text)
    if safe != text or any(character in safe for character in ',"\r\n;\t|') or safe != safe.strip():
        return '"' + safe.replace('"', '""') + '"'
    return safe


def _json_lines(rows: Iterable[Row]) -> Iterator[str]:
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for *texts, rated_at, comment, guidelines in rows:
        yield write(dict(zip(NAMES, (*texts, _moment(rated_at), comment, guidelines), strict=True))) + "\n"


def _moment(moment: datetime.datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _download(lines: Iterator[str], project: Project, *, kind: str, content_type: str) -> StreamingHttpResponse:
    name = f"{slugify(project.name) or 'project'}-{project.pk}.{kind}"
    headers: dict[str, Any] = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(_parcels(lines), content_type=content_type, headers=headers)


def _parcels(lines: Iterator[str]) -> Iterator[bytes]:
    """Many lines in one piece of the answer: a piece costs a system call."""
    parcel: list[str] = []
    for line in lines:
        parcel.append(line)
        if len(parcel) == AT_ONCE:
            yield "".join(parcel).encode()
            parcel.clear()
    yield "".join(parcel).encode()

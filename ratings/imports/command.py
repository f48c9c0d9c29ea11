"""An import without a lead at the wizard: the guesses stand where nothing else is wished."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils import translation
from django.utils.text import slugify

from core.api.errors import BadRequest
from projects.models import Project
from projects.services import question_validation
from projects.services.project_validation import Refused
from projects.services.question_validation import InvalidQuestions
from ratings.models import ImportRun

from . import jobs, leases, services, uploads
from .mapping import matching
from .mapping.columns import Look
from .mapping.import_mapping import Mapping
from .mapping.label_order import guess_order
from .problems import Unreadable, in_words, message, why_stopped
from .readers import SOURCES
from .services import NewScale

WAIT = 0.2  # seconds between two looks at a run that another worker has
OTHER = ("other", "none of these")
ONE_LABEL = (
    "question '{key}' has one label in this file, '{label}', and a question needs two categories: "
    "'{other}' was added; --order names all of them, and Set-up changes them later"
)


@dataclass(frozen=True)
class Wishes:
    """What is not to be guessed; empty is guessed. ``columns`` are (role, name of the column),
    ``members`` (rater in the file, user name), ``questions`` (key in the file, key here).
    ``match_raters``: take over who has the e-mail address or the name of a member."""

    source: str = ""
    encoding: str = ""
    columns: Sequence[tuple[str, str]] = ()
    layout: str = ""
    question: str = ""
    rater: str = ""
    match_raters: bool = False
    members: Sequence[tuple[str, str]] = ()
    questions: Sequence[tuple[str, str]] = ()
    project_name: str = ""
    scale: str = ""
    order: Sequence[str] = ()
    stands: str = "last"  # of mapping.STANDS, or again
    dry_run: bool = False


@dataclass
class Result:
    """What came of a file. ``stored``: whether it stands in the project now (of a dry run: whether
    it would)."""

    path: Path
    source: str = ""
    project: Project | None = None
    stored: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    problems: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, words: str, *, line: int | None = None, column: str = "") -> None:
        told = {"file": str(self.path), "line": line, "column": column, "message": words}
        self.problems.append(told)


class Impossible(ValueError):
    """What is wished cannot be done with this file; the message says why."""


def import_file(path: Path, *, project: Project | None, by: Any, wishes: Wishes) -> Result:
    """Check the file, and write it unless something is wrong with it or the run is dry."""
    result = Result(path)
    with translation.override("en"):
        try:
            with path.open("rb") as file:
                run = services.upload(
                    file=file, name=path.name, project=project, by=by, source=wishes.source
                )
        except Unreadable as error:
            result.refuse(in_words(error), line=error.problem.line)
            return result
        try:
            _go(run, result, wishes, by)
        finally:
            # of a finished run nothing is left; a refused one is not kept for anybody
            services.discard(run=run)
    return result


def _go(run: ImportRun, result: Result, wishes: Wishes, by: Any) -> None:
    try:
        mapping = _mapping(run, wishes)
    except (Impossible, Unreadable) as error:
        words = in_words(error) if isinstance(error, Unreadable) else str(error)
        result.refuse(words)
        return
    result.source = mapping.source
    services.choose_columns(run=run, mapping=mapping)
    _finish_step(run)
    _match_raters(run, wishes)
    _tell(run, result)
    if run.state != ImportRun.State.CHECKED:
        return
    try:
        new = _new_scales(run, result, wishes)
        if not wishes.dry_run:
            result.project = services.start(run=run, stands=wishes.stands, new=new, by=by)
            _finish_step(run)
    except Impossible as error:
        result.refuse(str(error))
        return
    except (Refused, InvalidQuestions) as error:
        result.refuse(_flat(error.fields if isinstance(error, Refused) else error.problems))
        return
    except BadRequest as error:
        result.refuse(_flat(error.fields))
        return
    result.stored = wishes.dry_run or run.state == ImportRun.State.DONE
    if run.state == ImportRun.State.FAILED:
        result.refuse(why_stopped(*run.summary["stopped"]))


def _match_raters(run: ImportRun, wishes: Wishes) -> None:
    """Check again where raters of the file turned out to be members."""
    mapping = Mapping.of(run)
    suggested = run.summary.get("suggested", {}) if wishes.match_raters else {}
    new = {key: user for key, user in suggested.items() if key not in mapping.members}
    if new and run.state == ImportRun.State.CHECKED:
        mapping.members |= new
        services.match(run=run, mapping=mapping)
        _finish_step(run)


def _finish_step(run: ImportRun) -> None:
    """Work on the run, or wait for the worker that has it."""
    while run.state in leases.WORKING:
        jobs.run_import(run.pk)
        run.refresh_from_db()
        if run.state in leases.WORKING:
            time.sleep(WAIT)


def _tell(run: ImportRun, result: Result) -> None:
    found = run.summary
    result.counts = {
        "items": found["items"],
        "raters": found["raters"],
        "ratings": found["rows"] - found["repeats"],
        "gold": found["golds"],
        "skipped": found["skips"],
    }
    result.left_out = {reason: told["count"] for reason, told in found["left_out"].items()}
    if found["of_other_questions"]:
        result.left_out["other_question"] = found["of_other_questions"]
    for problem in run.problems:
        result.refuse(message(problem), line=problem["line"], column=problem["column"])


# --- what the columns mean


def _mapping(run: ImportRun, wishes: Wishes) -> Mapping:
    if wishes.encoding:
        services.read_anew(run=run, encoding=wishes.encoding, delimiter="")
    mapping = Mapping.of(run)
    mapping.project_name = wishes.project_name
    mapping.one_rater = wishes.rater or mapping.one_rater
    _match(run, mapping, wishes)
    source = SOURCES[mapping.source]
    if source.encodings and not mapping.encoding:
        wrong = run.summary["not_utf8"]
        raise Impossible(
            f"the file is not in UTF-8, so --encoding is needed. Line {wrong['line']}: "
            f"{message(wrong)}"
        )
    look = source.look(uploads.absolute(run.path), mapping)
    if look is None:
        if wishes.columns:
            raise Impossible(f"a file of {source.name} has no columns to map")
        return mapping
    _map(mapping, look, wishes)
    _choose_question(run, mapping, look, wishes)
    return mapping


def _match(run: ImportRun, mapping: Mapping, wishes: Wishes) -> None:
    known = {user.username: user.pk for user in matching.members(run.project, run.by)}
    for key, username in wishes.members:
        if username not in known:
            raise Impossible(f"'{username}' is no member; one of {', '.join(known) or 'nobody'}")
        mapping.members[key] = known[username]
    for key, here in wishes.questions:
        if not question_validation.KEY.fullmatch(here):
            raise Impossible(f"'{here}' cannot be the key of a question")
        mapping.questions[key] = here


def _map(mapping: Mapping, look: Look, wishes: Wishes) -> None:
    places = {name: place for place, name in enumerate(look.names)}
    wished: dict[str, list[int]] = {}
    for role, name in wishes.columns:
        if name and name not in places:
            raise Impossible(f"there is no column '{name}'; one of {', '.join(look.names)}")
        wished.setdefault(role, []).extend([places[name]] if name else [])
    taken = {place for found in wished.values() for place in found}
    mapping.columns = {
        role: place
        for role, place in mapping.columns.items()
        if place not in taken and role not in wished
    }
    for several in ("parts", "attributes"):
        guessed = [place for place in getattr(mapping, several) if place not in taken]
        setattr(mapping, several, wished.pop(several, guessed))
    mapping.columns |= {role: found[-1] for role, found in wished.items() if found}
    mapping.leave_out = [place for place in mapping.leave_out if place not in taken]
    if wishes.layout:
        mapping.layout = wishes.layout
    elif "label" in mapping.columns:
        mapping.layout = "long"
    elif mapping.layout == "long":
        mapping.layout = "items"


def _choose_question(run: ImportRun, mapping: Mapping, look: Look, wishes: Wishes) -> None:
    """The question that the labels of a table answer."""
    if mapping.layout == "long" and "question" in mapping.columns and not wishes.question:
        mapping.every_question = True
        return
    label_at = mapping.columns.get("label")
    name = look.names[label_at] if label_at is not None else ""
    key = wishes.question or slugify(name) or "label"
    if not question_validation.KEY.fullmatch(key):
        raise Impossible(f"'{key}' cannot be the key of a question")
    mapping.question_key, mapping.question_text = key, name or key
    if run.project is None:
        return
    known = {question.key: question.pk for question in run.project.questions.all()}
    mapping.question_id = known.get(key)
    if mapping.question_id is None and not wishes.question and len(known) == 1:
        mapping.question_id = next(iter(known.values()))
    elif mapping.question_id is None and not wishes.question and known:
        raise Impossible(f"name the question that is answered by --question: {', '.join(known)}")


# --- what is new


def _new_scales(run: ImportRun, result: Result, wishes: Wishes) -> dict[str, NewScale]:
    """The scales of the questions that are to be made. Raises Impossible."""
    found: dict[str, NewScale] = {}
    keys = services.new_questions(run)
    for key in keys:
        labels = list(run.summary["questions"][key]["labels"])
        order, scale = guess_order(labels)
        missing = [label for label in labels if label not in wishes.order]
        if wishes.order and not missing:
            order = list(wishes.order)
            scale = "ordinal"
        elif wishes.order and len(keys) == 1:
            raise Impossible(f"--order does not name the labels {', '.join(missing)}")
        if len(order) == 1:
            # no rating is lost for want of a category that nobody gave
            (label,) = order
            order.append(OTHER[label == OTHER[0]])
            result.notes.append(ONE_LABEL.format(key=key, label=label, other=order[1]))
        found[key] = NewScale(wishes.scale or scale, order)
    return found


def _flat(found: Any) -> str:
    if isinstance(found, dict):
        return " ".join(_flat(inner) for inner in found.values())
    return str(found)

"""Logs: one line for each request and each task, told apart by their ids, and no line that somebody
else wrote."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client

from agreement_site.monitoring import logs
from tests.cast import PASSWORD


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Everything that was logged since, as the JSON form writes it."""
    yield from _captured(
        logs.JsonFormatter(), lambda text: [json.loads(line) for line in text.splitlines()]
    )


@pytest.fixture
def plain() -> Iterator[Callable[[], list[str]]]:
    yield from _captured(logs.PlainFormatter(), str.splitlines)


def _captured(
    formatter: logging.Formatter, read: Callable[[str], Any]
) -> Iterator[Callable[[], Any]]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(logs.RedactPathsFilter())
    root = logging.getLogger()
    root.addHandler(handler)
    yield lambda: read(stream.getvalue())
    root.removeHandler(handler)


def _is_ours(handler: logging.Handler) -> bool:
    stream = getattr(handler, "stream", None)
    return isinstance(handler.formatter, logs.JsonFormatter) and isinstance(stream, io.StringIO)


def requests(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in found if line["message"] == "request"]


def test_a_page_leaves_one_line(project: Any, lead: User, client_for: Any, lines: Any) -> None:
    answer = client_for(lead).get(f"/projects/{project.pk}/?question=severity")
    (line,) = requests(lines())
    assert answer.headers["X-Request-ID"] == line["request_id"]
    assert (line["method"], line["status"], line["level"]) == ("GET", 200, "INFO")
    assert line["path"] == f"/projects/{project.pk}/"  # no query
    assert (line["user_id"], line["project_id"]) == (lead.pk, project.pk)
    assert line["ms"] > 0


def test_an_api_call_is_told_with_its_user_and_without_its_token(
    project: Any, lead: User, api_for: Any, lines: Any
) -> None:
    client = api_for(lead)
    token = client._credentials["HTTP_AUTHORIZATION"].split()[1]
    client.get(f"/api/v1/projects/{project.pk}/")
    client.get(f"/api/v1/projects/{project.pk}/?token={token}")
    first, second = requests(lines())
    assert (first["user_id"], first["status"], second["status"]) == (lead.pk, 200, 400)
    assert token not in json.dumps(lines())


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/static/css/tokens.css", "/nowhere/", "/api/v1/nowhere/"]
)
def test_every_answer_has_an_id_and_a_line(path: str, db: None, client: Client, lines: Any) -> None:
    answers = [client.get(path) for _ in range(2)]
    ids = {answer.headers["X-Request-ID"] for answer in answers}
    assert len(ids) == 2
    for answer in answers:
        answer.close()  # a file is open until then
    found = requests(lines())
    assert ids == {line["request_id"] for line in found}
    assert len(lines()) == len(found)  # nothing is told twice


def test_an_id_from_a_proxy_is_kept(db: None, client: Client, lines: Any) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": "edge-7.f00_A"})
    assert answer.headers["X-Request-ID"] == "edge-7.f00_A"
    assert requests(lines())[0]["request_id"] == "edge-7.f00_A"


@pytest.mark.parametrize("given", ["", "two words", "a\nb", "é", "x" * 65, '"}'])
def test_an_id_that_is_none_is_replaced(given: str, db: None, client: Client, lines: Any) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": given})
    assert logs.VALID_REQUEST_ID.fullmatch(answer.headers["X-Request-ID"])
    assert answer.headers["X-Request-ID"] != given
    assert len(lines()) == 1


FORGED = "x\r\n2026-01-01 INFO login ok\x1b[2J\u2028\x85"


def test_no_path_can_forge_a_line(db: None, client: Client, lines: Any, plain: Any) -> None:
    client.get(f"/{quote(FORGED)}/", headers={"User-Agent": FORGED})
    assert requests(lines())[0]["path"] == f"/{FORGED}/"  # JSON gives back what was asked for
    assert [line for line in plain() if "login ok" in line] == plain()  # all of it on the one line
    assert all(line.isprintable() for line in plain())


def test_no_name_can_forge_a_line(lines: Any, plain: Any) -> None:
    try:
        raise ValueError(FORGED)
    except ValueError:
        logging.getLogger("somewhere").exception("the item %s", FORGED)
    (line,) = lines()
    assert line["message"] == f"the item {FORGED}"
    assert FORGED in line["trace"]
    first, *trace = plain()
    assert "login ok" in first
    assert all(part.startswith("    ") for part in trace)


def test_a_failing_request_is_told_with_its_trace(
    project: Any, lead: User, client_for: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("metrics.views.dashboard.dashboard_context.build_context", broken)
    client = client_for(lead)
    client.raise_request_exception = False
    answer = client.get(f"/projects/{project.pk}/")
    trace, line = lines()
    assert answer.status_code == line["status"] == 500
    assert "broken on purpose" in trace["trace"]
    assert trace["level"] == "ERROR"
    assert trace["request_id"] == line["request_id"] == answer.headers["X-Request-ID"]
    assert (trace["project_id"], trace["user_id"]) == (project.pk, lead.pk)


def test_a_database_that_is_gone_is_told_once(
    project: Any, lead: User, api_for: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*arguments: Any, **names: Any) -> None:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr("projects.api.base.get_project", gone)
    answer = api_for(lead).get(f"/api/v1/projects/{project.pk}/agreement/")
    assert answer.status_code == 503
    _token, why, line = lines()
    assert "server closed the connection" in why["message"]
    assert (line["status"], line["request_id"]) == (503, why["request_id"])


def test_the_secret_of_an_invitation_is_not_logged(
    db: None, client: Client, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.get("/invitations/MQ/the-secret/")

    def broken(*arguments: Any, **names: Any) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("agreement_site.accounts.sign_in.AcceptInvitation.dispatch", broken)
    client.raise_request_exception = False
    client.get("/invitations/MQ/the-secret/")
    assert [line["path"] for line in requests(lines())] == ["/invitations/MQ/***/"] * 2
    assert "the-secret" not in json.dumps([{**line, "trace": ""} for line in lines()])


def test_a_task_leaves_one_line_with_its_id(question: Any, lines: Any) -> None:
    from metrics.tasks import count_question

    count_question.apply(args=[question.pk], task_id="0b7e")
    (line,) = [line for line in lines() if line["message"] == "task"]
    assert (line["task_id"], line["task"], line["arguments"]) == (
        "0b7e",
        "metrics.tasks.count_question",
        [question.pk],
    )
    assert line["status"] == "done"
    assert line["ms"] > 0


def test_what_a_task_says_carries_its_id(
    question: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metrics.jobs import question_updates
    from metrics.tasks import count_question

    def broken(question_id: int, **kwargs: Any) -> None:
        logging.getLogger("metrics").warning("it will fail")
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(question_updates, "is_waiting", lambda question_id: True)
    monkeypatch.setattr(question_updates, "work_on", broken)
    count_question.apply(args=[question.pk], task_id="0b7e")
    said = {line["message"]: line for line in lines()}
    assert said["it will fail"]["task_id"] == said["task"]["task_id"] == "0b7e"
    assert said["task"]["status"] == "failed"
    assert any("broken on purpose" in line.get("trace", "") for line in lines())


def test_lines_after_a_request_or_task_no_longer_carry_its_id(
    db: None, client: Client, lines: Any
) -> None:
    client.get("/healthz")
    with logs.log_context(task_id="0b7e"):
        pass
    logging.getLogger("later").warning("alone")
    assert set(lines()[-1]) == {"time", "level", "logger", "message"}


# --- who, and from where


def test_each_request_says_from_where(client: Client, lines: Any) -> None:
    client.get("/sign-in/", REMOTE_ADDR="10.1.2.3")
    (line,) = requests(lines())
    assert line["address"] == "10.1.2.3"


@pytest.mark.parametrize(
    "path",
    ["/invitations/MQ/secret-1", "/x/invitations/MQ/secret-1/", "/invitations/MQ/secret-1/more"],
)
@pytest.mark.django_db
def test_the_secret_of_a_mistyped_link_is_not_logged(client: Client, lines: Any, path: str) -> None:
    client.get(path)
    assert all("secret-1" not in str(line) for line in lines())


def events(found: list[dict[str, Any]]) -> list[str]:
    return [line["message"] for line in found if line["logger"] == "concord.security"]


def test_what_happens_at_the_doors_is_said(
    client: Client, project: Any, lead: User, viewer: User, lines: Any
) -> None:
    client.post("/sign-in/", {"username": "my password", "password": "x"})
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    member = project.members.get(user=viewer)
    people = f"/projects/{project.pk}/people"
    person = f"m{member.pk}"
    client.post(f"{people}/act/", {"do": "role", "role": "annotator", "person": person})
    client.post(f"{people}/act/", {"do": "remove", "person": person})
    client.post(f"{people}/add/", {"username": "new", "role": "viewer", "account": "new"})
    client.post(f"{people}/act/", {"do": "pause", "person": f"r{project.raters.first().pk}"})
    client.get(f"/projects/{project.pk}/data/export.csv")
    client.post("/tokens/", {"scope": "read", "days": "30", "password": PASSWORD})
    client.post(f"/tokens/{lead.api_tokens.get().pk}/revoke/")
    client.post("/sign-out/")
    assert events(lines()) == [
        "password_wrong",
        "sign_in",
        "role_changed",
        "member_removed",
        "member_added",
        "link_made",
        "rater_paused",
        "export",
        "token_made",
        "token_revoked",
        "sign_out",
    ]
    changed = next(line for line in lines() if line["message"] == "role_changed")
    assert (changed["by"], changed["who"], changed["role"]) == (lead.pk, viewer.pk, "annotator")
    assert "my password" not in str(lines())


def test_while_the_database_is_away_one_line_a_second_says_so(
    lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = logs.DatabaseErrorFilter()
    ours = [handler for handler in logging.getLogger().handlers if _is_ours(handler)]
    handler = ours[-1]
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    handler.addFilter(once)
    log = logging.getLogger("django.request")
    for number in range(5):
        try:
            raise OperationalError("connection refused\n")
        except OperationalError as error:
            log.error("Internal Server Error: %s", f"/{number}", exc_info=True)
            logging.getLogger("core.api.errors").error("the database failed: %s", error)
    once._logged_at -= 1
    logging.getLogger("core.api.errors").error("%s", OperationalError("again"))
    logging.getLogger("else").error("%s", ValueError("another matter"))
    said = [(line["message"], line.get("left_out"), "trace" in line) for line in lines()]
    assert said == [
        ("the database failed: connection refused", None, False),
        ("the database failed: again", 9, False),
        ("another matter", None, False),
    ]

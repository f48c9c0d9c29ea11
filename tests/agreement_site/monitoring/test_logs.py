"""Tests of logs: one line for each request and each task, with its ID, and no forged lines."""

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
    """Return a function that reads everything logged since, as the JSON format writes it."""
    yield from _capture_logs(
        logs.JsonFormatter(), lambda text: [json.loads(line) for line in text.splitlines()]
    )


@pytest.fixture
def plain_lines() -> Iterator[Callable[[], list[str]]]:
    """Return a function that reads everything logged since, as the plain format writes it."""
    yield from _capture_logs(logs.PlainFormatter(), str.splitlines)


def _capture_logs(
    formatter: logging.Formatter, read: Callable[[str], Any]
) -> Iterator[Callable[[], Any]]:
    """Capture the log in this format and yield a function that reads it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(logs.RedactPathsFilter())
    root = logging.getLogger()
    root.addHandler(handler)
    yield lambda: read(stream.getvalue())
    root.removeHandler(handler)


def _is_capture_handler(handler: logging.Handler) -> bool:
    stream = getattr(handler, "stream", None)
    return isinstance(handler.formatter, logs.JsonFormatter) and isinstance(stream, io.StringIO)


def filter_requests(log_lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of requests."""
    return [line for line in log_lines if line["message"] == "request"]


def test_page_logs_one_line(project: Any, lead: User, client_for: Any, lines: Any) -> None:
    response = client_for(lead).get(f"/projects/{project.pk}/?question=severity")
    (line,) = filter_requests(lines())
    assert response.headers["X-Request-ID"] == line["request_id"]
    assert (line["method"], line["status"], line["level"]) == ("GET", 200, "INFO")
    assert line["path"] == f"/projects/{project.pk}/"  # no query
    assert (line["user_id"], line["project_id"]) == (lead.pk, project.pk)
    assert line["ms"] > 0


def test_api_call_logs_its_user_but_not_its_token(
    project: Any, lead: User, api_for: Any, lines: Any
) -> None:
    client = api_for(lead)
    token = client._credentials["HTTP_AUTHORIZATION"].split()[1]
    client.get(f"/api/v1/projects/{project.pk}/")
    client.get(f"/api/v1/projects/{project.pk}/?token={token}")
    first, second = filter_requests(lines())
    assert (first["user_id"], first["status"], second["status"]) == (lead.pk, 200, 400)
    assert token not in json.dumps(lines())


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/static/css/tokens.css", "/nowhere/", "/api/v1/nowhere/"]
)
def test_every_response_has_an_id_and_a_log_line(
    path: str, db: None, client: Client, lines: Any
) -> None:
    responses = [client.get(path) for _ in range(2)]
    ids = {response.headers["X-Request-ID"] for response in responses}
    assert len(ids) == 2
    for response in responses:
        response.close()  # closes the static file
    request_lines = filter_requests(lines())
    assert ids == {line["request_id"] for line in request_lines}
    assert len(lines()) == len(request_lines)  # nothing is logged twice


def test_request_id_of_a_proxy_is_kept(db: None, client: Client, lines: Any) -> None:
    response = client.get("/healthz", headers={"X-Request-ID": "edge-7.f00_A"})
    assert response.headers["X-Request-ID"] == "edge-7.f00_A"
    assert filter_requests(lines())[0]["request_id"] == "edge-7.f00_A"


@pytest.mark.parametrize("request_id", ["", "two words", "a\nb", "é", "x" * 65, '"}'])
def test_invalid_request_id_is_replaced(
    request_id: str, db: None, client: Client, lines: Any
) -> None:
    response = client.get("/healthz", headers={"X-Request-ID": request_id})
    assert logs.VALID_REQUEST_ID.fullmatch(response.headers["X-Request-ID"])
    assert response.headers["X-Request-ID"] != request_id
    assert len(lines()) == 1


FORGED = "x\r\n2026-01-01 INFO login ok\x1b[2J\u2028\x85"


def test_no_path_can_forge_a_line(db: None, client: Client, lines: Any, plain_lines: Any) -> None:
    client.get(f"/{quote(FORGED)}/", headers={"User-Agent": FORGED})
    assert filter_requests(lines())[0]["path"] == f"/{FORGED}/"  # JSON preserves the path
    assert [
        line for line in plain_lines() if "login ok" in line
    ] == plain_lines()  # all of it is on one line
    assert all(line.isprintable() for line in plain_lines())


def test_no_log_argument_can_forge_a_line(lines: Any, plain_lines: Any) -> None:
    try:
        raise ValueError(FORGED)
    except ValueError:
        logging.getLogger("somewhere").exception("the item %s", FORGED)
    (line,) = lines()
    assert line["message"] == f"the item {FORGED}"
    assert FORGED in line["trace"]
    first, *trace = plain_lines()
    assert "login ok" in first
    assert all(part.startswith("    ") for part in trace)


def test_failing_request_logs_a_traceback(
    project: Any, lead: User, client_for: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("metrics.views.dashboard.overview_context.build_overview_context", fail)
    client = client_for(lead)
    client.raise_request_exception = False
    response = client.get(f"/projects/{project.pk}/")
    trace, line = lines()
    assert response.status_code == line["status"] == 500
    assert "broken on purpose" in trace["trace"]
    assert trace["level"] == "ERROR"
    assert trace["request_id"] == line["request_id"] == response.headers["X-Request-ID"]
    assert (trace["project_id"], trace["user_id"]) == (project.pk, lead.pk)


def test_unavailable_database_is_logged_once(
    project: Any, lead: User, api_for: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **names: Any) -> None:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr("projects.api.base.get_project", fail)
    response = api_for(lead).get(f"/api/v1/projects/{project.pk}/agreement/")
    assert response.status_code == 503
    _token, error_line, line = lines()
    assert "server closed the connection" in error_line["message"]
    assert (line["status"], line["request_id"]) == (503, error_line["request_id"])


def test_secret_of_an_invitation_is_not_logged(
    db: None, client: Client, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.get("/invitations/MQ/the-secret/")

    def fail(*arguments: Any, **names: Any) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("agreement_site.accounts.sign_in.AcceptInvitation.dispatch", fail)
    client.raise_request_exception = False
    client.get("/invitations/MQ/the-secret/")
    assert [line["path"] for line in filter_requests(lines())] == ["/invitations/MQ/***/"] * 2
    assert "the-secret" not in json.dumps([{**line, "trace": ""} for line in lines()])


def test_task_logs_one_line_with_its_id(question: Any, lines: Any) -> None:
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


def test_log_lines_of_a_task_contain_its_id(
    question: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metrics.jobs import question_updates
    from metrics.tasks import count_question

    def fail(question_id: int, **kwargs: Any) -> None:
        logging.getLogger("metrics").warning("it will fail")
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(question_updates, "has_pending_work", lambda question_id: True)
    monkeypatch.setattr(question_updates, "update_question_for_seconds", fail)
    count_question.apply(args=[question.pk], task_id="0b7e")
    lines_by_message = {line["message"]: line for line in lines()}
    assert (
        lines_by_message["it will fail"]["task_id"] == lines_by_message["task"]["task_id"] == "0b7e"
    )
    assert lines_by_message["task"]["status"] == "failed"
    assert any("broken on purpose" in line.get("trace", "") for line in lines())


def test_lines_after_a_request_or_task_do_not_contain_its_id(
    db: None, client: Client, lines: Any
) -> None:
    client.get("/healthz")
    with logs.log_context(task_id="0b7e"):
        pass
    logging.getLogger("later").warning("alone")
    assert set(lines()[-1]) == {"time", "level", "logger", "message"}


# --- users and addresses


def test_request_line_contains_the_address(client: Client, lines: Any) -> None:
    client.get("/sign-in/", REMOTE_ADDR="10.1.2.3")
    (line,) = filter_requests(lines())
    assert line["address"] == "10.1.2.3"


@pytest.mark.parametrize(
    "path",
    [
        "/Shared/secret-1/",
        "/SHARED//secret-1",
        "/Password/Forgotten/secret-1/",
        "/invitations/MQ/secret-1",
        "/x/invitations/MQ/secret-1/",
        "/invitations/MQ/secret-1/more",
    ],
)
@pytest.mark.django_db
def test_secret_of_a_mistyped_link_is_not_logged(client: Client, lines: Any, path: str) -> None:
    client.get(path)
    assert all("secret-1" not in str(line) for line in lines())


def list_security_events(log_lines: list[dict[str, Any]]) -> list[str]:
    """Return the messages of the security log."""
    return [line["message"] for line in log_lines if line["logger"] == "concord.security"]


def test_security_events_are_logged(
    client: Client, project: Any, lead: User, viewer: User, lines: Any
) -> None:
    client.post("/sign-in/", {"username": "my password", "password": "x"})
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    member = project.members.get(user=viewer)
    people = f"/projects/{project.pk}/people"
    person = f"m{member.pk}"
    client.post(f"{people}/action/", {"do": "role", "role": "annotator", "person": person})
    client.post(f"{people}/action/", {"do": "remove", "person": person})
    client.post(f"{people}/add/", {"username": "new", "role": "viewer", "account": "new"})
    client.post(f"{people}/action/", {"do": "pause", "person": f"r{project.raters.first().pk}"})
    client.get(f"/projects/{project.pk}/data/export.csv")
    client.post("/tokens/", {"scope": "read", "days": "30", "password": PASSWORD})
    client.post(f"/tokens/{lead.api_tokens.get().pk}/revoke/")
    client.post("/sign-out/")
    assert list_security_events(lines()) == [
        "password_rejected",
        "sign_in",
        "role_changed",
        "member_removed",
        "member_added",
        "invitation_link_created",
        "rater_paused",
        "export",
        "token_created",
        "token_revoked",
        "sign_out",
    ]
    role_line = next(line for line in lines() if line["message"] == "role_changed")
    assert (role_line["by"], role_line["target_user_id"], role_line["role"]) == (
        lead.pk,
        viewer.pk,
        "annotator",
    )
    assert "my password" not in str(lines())


def test_database_errors_are_logged_once_a_second(
    lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate_filter = logs.DatabaseErrorFilter()
    capture_handlers = [
        handler for handler in logging.getLogger().handlers if _is_capture_handler(handler)
    ]
    handler = capture_handlers[-1]
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    handler.addFilter(rate_filter)
    logger = logging.getLogger("django.request")
    for number in range(5):
        try:
            raise OperationalError("connection refused\n")
        except OperationalError as error:
            logger.error("Internal Server Error: %s", f"/{number}", exc_info=True)
            logging.getLogger("core.api.errors").error("the database failed: %s", error)
    rate_filter._logged_at -= 1
    logging.getLogger("core.api.errors").error("%s", OperationalError("again"))
    logging.getLogger("else").error("%s", ValueError("another matter"))
    messages = [(line["message"], line.get("suppressed"), "trace" in line) for line in lines()]
    assert messages == [
        ("the database failed: connection refused", None, False),
        ("the database failed: again", 9, False),
        ("another matter", None, False),
    ]


@pytest.mark.django_db
def test_polls_of_open_pages_are_no_lines(
    client: Client, project: Any, lead: User, lines: Any
) -> None:
    client.force_login(lead)
    address = f"/projects/{project.pk}/"
    client.get(address)
    client.get(address, headers={"X-Shown-Version": "1"})
    assert [line["path"] for line in filter_requests(lines())] == [address]
    client.get("/projects/999999/", headers={"X-Shown-Version": "1"})
    assert [line["status"] for line in filter_requests(lines())][-1] == 404

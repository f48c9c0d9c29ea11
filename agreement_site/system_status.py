"""Status of the site: uncounted ratings, workers, broker and disk.

For the page of administrators and for `manage.py status`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from agreement_site import releases
from agreement_site.monitoring import health
from agreement_site.notifications import outbox
from agreement_site.server import embedded_broker
from core.jobs import dispatch
from core.web.dates import relative_time
from metrics.counting import backlog
from metrics.integrity import schedule
from metrics.integrity.schedule import AuditSummary
from metrics.jobs import heartbeat, question_updates
from metrics.models import Worker
from metrics.views.common.number_formats import format_count
from projects.models import Question
from ratings.files import shared_folders
from ratings.imports import leases
from ratings.models import ImportRun

MATCHING_SCHEMA = "of this release"
LATE_MAIL_SECONDS = 300  # a sweep asks the mail server every few seconds
LOW_DISK_BYTES = 1 << 30  # free on the disk of DATA_DIR; imports and, on SQLite, ratings need it


@dataclass(frozen=True)
class SystemStatus:
    """Status of the site, in the order in which `manage.py status --json` prints it."""

    release: str
    schema: str
    uncounted: int
    oldest_uncounted_seconds: float | None
    late_questions: int
    late: list[int]  # ids of questions
    pending_questions: int
    backlogs: dict[str, dict[str, int]]  # {question id: counted and total ratings}
    mails: outbox.MailQueueState | None  # None where the site sends none
    running_imports: int
    audit: schedule.AuditSummary | None
    workers: dict[str, float]  # {name: seconds since the last sweep}
    broker: str  # see get_broker_state
    disk_free_bytes: int
    separate_folders: list[str]

    @property
    def problems(self) -> list[str]:
        """Return the problems that need an administrator, as sentences."""
        return [
            *_list_machine_problems(self),
            *_list_late_problems(self),
            *_list_mail_problems(self.mails),
            *_list_audit_problems(self.audit),
        ]

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "problems": self.problems}


def collect_status() -> SystemStatus:
    """Return the status of the site, and store which questions are stale, as each sweep does."""
    now = timezone.now()
    lag = health.record_and_measure_lag(now)
    sweeps = Worker.objects.order_by("-swept_at").values_list("name", "swept_at")
    backlogs = backlog.get_progress_by_question().items()
    return SystemStatus(
        release=releases.get_release(),
        schema=releases.describe_schema_mismatch() or MATCHING_SCHEMA,
        uncounted=lag.uncounted + lag.stale,
        oldest_uncounted_seconds=None if lag.oldest is None else lag.get_lag_seconds(now),
        late_questions=lag.n_late,
        late=sorted(lag.late),
        pending_questions=len(question_updates.list_pending_questions()),
        backlogs={str(question_id): progress for question_id, progress in backlogs},
        mails=outbox.summarize_queue(now) if settings.SMTP_URL else None,
        running_imports=ImportRun.objects.filter(state__in=leases.WORKING_STATES).count(),
        audit=schedule.get_audit_summary(),
        workers={name: (now - swept_at).total_seconds() for name, swept_at in sweeps},
        broker=get_broker_state(),
        disk_free_bytes=health.get_free_bytes(),
        separate_folders=shared_folders.describe_separate_folders(),
    )


def get_broker_state() -> str:
    """Return whether the broker works, in words for the status.

    The words are "none", "answers", "takes nothing (ERROR)" or "does not answer (ERROR)". A broker
    whose memory is full takes nothing: it answers a ping, but rejects writes.
    """
    if settings.REDIS_URL:
        client = dispatch.get_redis_client()
    elif embedded_broker.is_broker_running(settings.DATA_DIR):
        # a shell beside `make run`, which sets REDIS_URL for its own processes only
        socket = str(embedded_broker.get_broker_socket(settings.DATA_DIR))
        client = redis.Redis(unix_socket_path=socket, socket_timeout=0.5)
    else:
        return "none"
    try:
        client.ping()
        # A broker whose memory is full responds to a ping, but rejects writes.
        client.set(
            f"{settings.CELERY_BROKER_TRANSPORT_OPTIONS['global_keyprefix']}status", 1, ex=60
        )
    except redis.ResponseError as error:
        return f"takes nothing ({type(error).__name__})"
    except (redis.RedisError, OSError) as error:
        return f"does not answer ({type(error).__name__})"
    return "answers"


def _list_machine_problems(status: SystemStatus) -> list[str]:
    """Return the problems of schema, disk and broker."""
    sentences = []
    if status.schema != MATCHING_SCHEMA:
        sentences.append(status.schema)
    if status.disk_free_bytes < LOW_DISK_BYTES:
        free = {"free": status.disk_free_bytes >> 20}
        sentences.append(_("Only %(free)s MB left for DATA_DIR") % free)
    if status.broker.startswith("takes nothing"):
        sentences.append(_("The broker rejects writes"))
    return sentences


def _list_late_problems(status: SystemStatus) -> list[str]:
    """Return the problems of workers that work late or not at all."""
    sentences = []
    last_sweep = min(status.workers.values(), default=None)
    if last_sweep is None:
        sentences.append(_("No worker active for an hour"))
    elif last_sweep > heartbeat.LATE_SECONDS:
        sentences.append(_("No worker active for %(seconds)d s") % {"seconds": round(last_sweep)})
    oldest = status.oldest_uncounted_seconds
    if oldest is not None and oldest > heartbeat.LATE_SECONDS:
        template = _("A rating is still uncounted after %(seconds)d s")
        sentences.append(template % {"seconds": round(oldest)})
    if number := status.late_questions:
        sentences.append(
            ngettext(
                "%(number)s question with outdated results",
                "%(number)s questions with outdated results",
                number,
            )
            % {"number": number}
        )
    return sentences


def _list_audit_problems(audit: schedule.AuditSummary | None) -> list[str]:
    number = audit["questions_that_differ"] if audit else 0
    if not number:
        return []
    sentence = ngettext(
        "%(number)s question differs from a recount",
        "%(number)s questions differ from a recount",
        number,
    )
    return [sentence % {"number": number}]


def _list_mail_problems(mails: outbox.MailQueueState | None) -> list[str]:
    """Return the problems of queued mails; none if ``mails`` is None: the site sends no mail."""
    if mails is None:
        return []
    sentences = []
    if mails["late_seconds"] > LATE_MAIL_SECONDS:
        template = _("Emails waiting for %(minutes)d min. See the worker log.")
        sentences.append(template % {"minutes": mails["late_seconds"] // 60})
    if number := mails["failed"]:
        sentences.append(
            ngettext(
                "%(number)s email failed in the last day. See Queued mails.",
                "%(number)s emails failed in the last day. See Queued mails.",
                number,
            )
            % {"number": number}
        )
    return sentences


MAX_LISTED_QUESTIONS = 20  # maximum number of late questions that the page lists


@login_required
@require_safe
def show_system_status(request: HttpRequest) -> HttpResponse:
    """Show the status of the site; raise PermissionDenied for all but superusers."""
    if not request.user.is_superuser:
        raise PermissionDenied(_("Only administrators can do this."))
    status, now = collect_status(), timezone.now()
    late = Question.objects.filter(pk__in=status.late).select_related("project")
    context = {
        "status": status,
        "now": now,
        "late": late.order_by("pk")[:MAX_LISTED_QUESTIONS],
        "rows": list(_iter_rows(status, now)),
    }
    return render(request, "agreement_site/system_status.html", context)


def _iter_rows(status: SystemStatus, now: datetime.datetime) -> Iterator[tuple[str, str]]:
    """Yield (label, text) of each line of the page."""
    version = ".".join(map(str, connection.get_database_version()))
    yield _("Release"), status.release
    yield _("Database"), f"{connection.display_name} {version}"
    yield _("Uncounted ratings"), _describe_uncounted(status, now)
    yield _("Questions with pending work"), format_count(status.pending_questions)
    for question, progress in _list_backlogs(status.backlogs):
        counted = {name: format_count(progress[name]) for name in ("done", "total")}
        label = f"{_('Backlog')}: {question.project.name}, {question.text}"
        yield label, _("%(done)s of %(total)s ratings counted") % counted
    if status.mails:
        yield _("Queued mails"), format_count(status.mails["waiting"])
    yield _("Running imports"), format_count(status.running_imports)
    yield _("Count audit"), _describe_audit(status.audit, now)
    broker = {
        "answers": _("responding"),
        "none": _("none"),
    }
    yield _("Broker"), broker.get(status.broker, status.broker)
    yield _("Free disk space"), filesizeformat(status.disk_free_bytes)
    for name, seconds in status.workers.items():
        moment = _format_past_time(now, seconds)
        text = _("active %(moment)s") % {"moment": moment}
        yield f"{_('Worker')} {name}", mark_safe(text)  # noqa: S308 (a translation and a time)
    if not status.workers:
        yield _("Worker"), _("No worker active for an hour")


def _describe_uncounted(status: SystemStatus, now: datetime.datetime) -> str:
    n_ratings, seconds = format_count(status.uncounted), status.oldest_uncounted_seconds
    if seconds is None:
        return n_ratings
    oldest = _("oldest from %(moment)s") % {"moment": _format_past_time(now, seconds)}
    return mark_safe(f"{n_ratings} ({oldest})")  # noqa: S308 (a number, a translation and a time)


def _describe_audit(audit: AuditSummary | None, now: datetime.datetime) -> str:
    if not audit:
        return _("none yet")
    n_different = audit["questions_that_differ"]
    result = _("all counts match")
    if n_different:
        result = ngettext(
            "%(number)s question differs from a recount",
            "%(number)s questions differ from a recount",
            n_different,
        ) % {"number": n_different}
    return format_html("{}, {}", _format_past_time(now, audit["seconds_ago"]), result)


def _format_past_time(now: datetime.datetime, seconds: float) -> SafeString:
    return relative_time(timezone.localtime(now - datetime.timedelta(seconds=seconds)))


def _list_backlogs(progress: Mapping[str, dict[str, int]]) -> list[tuple[Question, dict[str, int]]]:
    """Return (question, its numbers of counted and total ratings) of questions with a backlog."""
    questions = Question.objects.select_related("project").in_bulk(list(map(int, progress)))
    return [(question, progress[str(pk)]) for pk, question in questions.items()]

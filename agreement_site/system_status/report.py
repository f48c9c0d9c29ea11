"""Status of the site: uncounted ratings, workers, broker and disk.

For the page of administrators and for `manage.py status`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import redis
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agreement_site import releases
from agreement_site.monitoring import health, stale_results
from agreement_site.notifications import outbox
from agreement_site.server import embedded_broker
from core.jobs import dispatch
from metrics.counting import backlog
from metrics.integrity import schedule
from metrics.jobs import heartbeat, question_updates
from metrics.models import Worker
from ratings.files import data_folders
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
    """Return the status. Stale questions are recorded, as by a sweep."""
    now = timezone.now()
    lag = stale_results.record_and_measure_lag(now)
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
        separate_folders=data_folders.describe_separate_folders(),
    )


def get_broker_state() -> str:
    """Return "none", "answers", "takes nothing (...)" or "does not answer (...)"."""
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
        sentences.append(_("Only %(free)s MB left on the disk of DATA_DIR") % free)
    if status.broker.startswith("takes nothing"):
        sentences.append(_("The broker rejects writes"))
    return sentences


def _list_late_problems(status: SystemStatus) -> list[str]:
    """Return the problems of workers that work late or not at all."""
    sentences = []
    last_sweep = min(status.workers.values(), default=None)
    if last_sweep is None:
        sentences.append(_("No worker active in the last hour"))
    elif last_sweep > heartbeat.LATE_SECONDS:
        sentences.append(_("No worker active for %(seconds)d s") % {"seconds": round(last_sweep)})
    oldest = status.oldest_uncounted_seconds
    if oldest is not None and oldest > heartbeat.LATE_SECONDS:
        template = _("A rating has been uncounted for %(seconds)d s")
        sentences.append(template % {"seconds": round(oldest)})
    if number := status.late_questions:
        sentences.append(
            ngettext(
                "%(number)s question is out of date",
                "%(number)s questions are out of date",
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
    """Return the problems of queued mails; ``mails`` is None where the site sends no mail."""
    if mails is None:
        return []
    sentences = []
    if mails["late_seconds"] > LATE_MAIL_SECONDS:
        template = _("Emails have been waiting %(minutes)d min. See the worker log.")
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

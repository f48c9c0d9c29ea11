"""Sessions: the store, the end of idle ones, and the pages where users end their own."""

from __future__ import annotations

import time
from typing import Any

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from agreement_site.middleware.base import BaseMiddleware
from core import security_log

STARTED_AT_KEY = "began"  # session key: Unix time in seconds
# session key: Unix time in seconds, updated once per LAST_SEEN_INTERVAL_SECONDS at most
LAST_SEEN_KEY = "seen"
LAST_SEEN_INTERVAL_SECONDS = 10 * 60  # seconds: one write per request would be too many


class SessionStore(DatabaseSessions):
    def get_session_cookie_age(self) -> int:
        started_at = self.get(STARTED_AT_KEY)
        if started_at is None:
            return settings.SESSION_COOKIE_AGE
        return max(0, int(started_at + settings.SESSION_COOKIE_AGE - time.time()))

    def save(self, must_create: bool = False) -> None:
        store: Any = self
        data: dict[str, object] = store._get_session(no_load=must_create)
        if data:
            data[LAST_SEEN_KEY] = int(time.time())
            data.setdefault(STARTED_AT_KEY, data[LAST_SEEN_KEY])
        super().save(must_create)


class IdleSessionMiddleware(BaseMiddleware):
    """End sessions that are idle for too long, and record from time to time that one is used.

    It runs before the session's user is loaded.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            self.refresh_or_end(request.session)
        return self.get_response(request)

    def refresh_or_end(self, session: Any) -> None:
        """Flush a session that is idle for too long or must be renewed; else update its last use.

        ``session``: the request's. The last use is stored at most once in
        LAST_SEEN_INTERVAL_SECONDS.
        """
        last_seen = session.get(LAST_SEEN_KEY)
        if last_seen is None:  # a new session, or one from an older release
            return
        idle_seconds = time.time() - last_seen
        if idle_seconds > settings.SESSION_IDLE_HOURS * 3600 or _must_ask_provider(session):
            session.flush()
        elif idle_seconds > LAST_SEEN_INTERVAL_SECONDS:
            session.modified = True  # so that it is saved
            listed_session = UserSession.objects.filter(session_key=session.session_key)
            listed_session.update(last_seen_at=timezone.now())


def _must_ask_provider(session: Any) -> bool:
    """Return True for a provider's session older than PROVIDER_SESSION_HOURS.

    The user must then sign in at the identity provider again, which may have disabled the account.
    """
    hours = settings.PROVIDER_SESSION_HOURS
    if not hours or time.time() - session.get(STARTED_AT_KEY, 0) <= hours * 3600:
        return False
    records = session.get(AUTHENTICATION_METHODS_SESSION_KEY, [])
    return any(record["method"] == "socialaccount" for record in records)


# A user agent also names the browsers it descends from, so the first match counts.
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "FxiOS": "Firefox"} | {
    "Chrome": "Chrome",
    "CriOS": "Chrome",
    "Safari": "Safari",
}
SYSTEMS = {"Android": "Android", "iPhone": "iOS", "iPad": "iPadOS", "Windows": "Windows"} | {
    "Mac OS": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


def describe_browser(user_agent: str) -> str:
    """Return browser and system, such as "Firefox, Windows"; else the first 40 characters."""
    labels = [
        next((name for token, name in names.items() if token in user_agent), "")
        for names in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(filter(None, labels)) or user_agent[:40]


@login_required
@require_safe
def list_sessions(request: HttpRequest) -> HttpResponse:
    """Show the user's own sessions, the current one first; delete the rows of ended ones."""
    sessions = UserSession.objects.purge_and_list(request.user)
    sessions.sort(key=lambda session: (not session.is_current(), -session.last_seen_at.timestamp()))
    rows = [(session, describe_browser(session.user_agent)) for session in sessions]
    return render(request, "usersessions/usersession_list.html", {"sessions": rows})


@login_required
@require_http_methods(["POST"])
@transaction.atomic
def end_sessions(request: HttpRequest, session_id: int | None = None) -> HttpResponse:
    """End one of the user's sessions, or all but the current one if ``session_id`` is None.

    Raises Http404 if the user has no other session with this id.
    """
    user_sessions = UserSession.objects.filter(user=request.user.pk)
    other_sessions = user_sessions.exclude(session_key=request.session.session_key)
    sessions = list(other_sessions if session_id is None else other_sessions.filter(pk=session_id))
    if session_id is not None and not sessions:
        raise Http404
    for session in sessions:
        security_log.log_event(
            "session_revoked", before={"browser": describe_browser(session.user_agent)}
        )
        session.end()
    n_ended = len(sessions)
    messages.success(
        request, ngettext("%(n)s session ended.", "%(n)s sessions ended.", n_ended) % {"n": n_ended}
    )
    return redirect("usersessions_list")

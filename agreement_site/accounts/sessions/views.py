"""Pages where users see their own sessions and end them."""

from __future__ import annotations

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from core import security_log

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
    """Return browser and system, such as "Firefox, Windows"; else the start of the user agent."""
    labels = [
        next((name for token, name in names.items() if token in user_agent), "")
        for names in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(filter(None, labels)) or user_agent[:40]


@login_required
@require_safe
def list_sessions(request: HttpRequest) -> HttpResponse:
    """Show the user's own sessions since they are recorded, the current one first."""
    sessions = UserSession.objects.purge_and_list(request.user)
    sessions.sort(key=lambda session: (not session.is_current(), -session.last_seen_at.timestamp()))
    rows = [(session, describe_browser(session.user_agent)) for session in sessions]
    return render(request, "usersessions/usersession_list.html", {"sessions": rows})


@login_required
@require_http_methods(["POST"])
@transaction.atomic
def end_session(request: HttpRequest, session_id: int | None = None) -> HttpResponse:
    """End one of the user's sessions, or all but the current one."""
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
    messages.success(request, _("Session ended."))
    return redirect("usersessions_list")

"""One's own sessions: where one is signed in, and ending those."""

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

# What a browser says of itself names its forebears, too: the first that is found is it.
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


def browser_of(user_agent: str) -> str:
    """ "Firefox, Windows"; else the beginning of what it says of itself."""
    found = [
        next((name for sign, name in known.items() if sign in user_agent), "")
        for known in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(filter(None, found)) or user_agent[:40]


@login_required
@require_safe
def own_sessions(request: HttpRequest) -> HttpResponse:
    """Those that were opened since sessions are listed; the current one first."""
    found = UserSession.objects.purge_and_list(request.user)
    found.sort(key=lambda one: (not one.is_current(), -one.last_seen_at.timestamp()))
    shown = [(one, browser_of(one.user_agent)) for one in found]
    return render(request, "usersessions/usersession_list.html", {"sessions": shown})


@login_required
@require_http_methods(["POST"])
@transaction.atomic
def end_session(request: HttpRequest, session_id: int | None = None) -> HttpResponse:
    """End one of one's own sessions, or all but the current one."""
    own = UserSession.objects.filter(user=request.user.pk)
    others = own.exclude(session_key=request.session.session_key)
    ended = list(others if session_id is None else others.filter(pk=session_id))
    if session_id is not None and not ended:
        raise Http404
    for session in ended:
        security_log.event("session_revoked", before={"browser": browser_of(session.user_agent)})
        session.end()
    messages.success(request, _("Ended: whoever used it has to sign in again."))
    return redirect("usersessions_list")

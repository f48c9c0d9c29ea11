"""Sessions in the database, as Django keeps them, that end in two ways: SESSION_COOKIE_AGE after
the sign-in, whatever was done in them, and SESSION_IDLE_HOURS after they were used last."""

from __future__ import annotations

import time
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from agreement_site.middleware.base import Around

BEGAN = "began"  # seconds since 1970
SEEN = "seen"  # the same, exact to NOTED_EVERY
NOTED_EVERY = 10 * 60  # seconds; a write a request would be waste


class SessionStore(DatabaseSessions):
    def get_session_cookie_age(self) -> int:
        began = self.get(BEGAN)
        if began is None:
            return settings.SESSION_COOKIE_AGE
        return max(0, int(began + settings.SESSION_COOKIE_AGE - time.time()))

    def save(self, must_create: bool = False) -> None:
        mine: Any = self
        kept: dict[str, Any] = mine._get_session(no_load=must_create)
        if kept:
            kept[SEEN] = int(time.time())
            kept.setdefault(BEGAN, kept[SEEN])
        super().save(must_create)


class Seen(Around):
    """Ends the session that nobody used for long, before anybody asks whose it is, and notes now
    and then that it is used."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            self.look(request.session)
        return self.get_response(request)

    def look(self, session: Any) -> None:
        seen = session.get(SEEN)
        if seen is None:  # of an older release, or none
            return
        rested = time.time() - seen
        if rested > settings.SESSION_IDLE_HOURS * 3600:
            session.flush()
        elif rested > NOTED_EVERY:
            session.modified = True  # which saves it
            own = UserSession.objects.filter(session_key=session.session_key)
            own.update(last_seen_at=timezone.now())

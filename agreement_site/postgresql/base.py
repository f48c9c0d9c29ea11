"""Django's PostgreSQL, whose connections are looked at before each request without a journey to the database."""

from __future__ import annotations

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """A server that has gone has closed its end, and that can be read from ours: only then is the server asked."""
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return super().is_usable() if poll.poll(0) else True

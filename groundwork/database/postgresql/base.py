"""Django's PostgreSQL, whose connections are looked at before each request without a journey to the
database, and remember the plans of the statements that every rating needs."""

from __future__ import annotations

import re
import select
from collections.abc import Collection
from typing import Any

from django.db.backends.postgresql import base

# of a connection: beyond them a text was made for one number of rows, and will not come again
MOST_TEXTS = 100
# Plans are made for the tables as they are. A table that was empty then may have grown: after so
# many asks anew.
ASKS = 500

_MARK = re.compile("%[s%]")


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        self._names: dict[str, str] = {}
        self._made = self._asks = 0
        return connection

    def is_usable(self) -> bool:
        """A server that has gone has closed its end, and that can be read from ours: only then is
        the server asked."""
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return super().is_usable() if poll.poll(0) else True

    def prepared(self, texts: Collection[str]) -> dict[str, str]:
        """Statement -> the name under which this connection's server knows it, with those of
        ``texts`` that it can be told: ``EXECUTE name (values)`` spares the parsing and the
        planning, which cost as much as the work itself.

        None behind a pooler that changes the server between two transactions
        (PREPARED_STATEMENTS=0).
        """
        if not self.settings_dict.get("PREPARED_STATEMENTS"):
            return {}
        self._asks += 1
        if self._asks > ASKS:
            self._tell("DEALLOCATE ALL")
            self._names, self._asks = {}, 1
        new = [text for text in dict.fromkeys(texts) if text not in self._names][
            : MOST_TEXTS - len(self._names)
        ]
        if new:
            # Never a name twice: whether one that failed is known to the server, nobody can say.
            names = {text: f"concord_{self._made + number}" for number, text in enumerate(new)}
            self._made += len(new)
            self._tell(
                ";".join(f"PREPARE {name} AS {_numbered(text)}" for text, name in names.items())
            )
            self._names |= names
        return self._names

    def _tell(self, command: str) -> None:
        with self.wrap_database_errors:
            self.connection.execute(command)


def _numbered(text: str) -> str:
    """The statement with $1, $2, ... instead of %s, as PREPARE wants it."""
    parts = _MARK.split(text)
    marks = _MARK.findall(text)
    found, number = [parts[0]], 0
    for mark, part in zip(marks, parts[1:], strict=True):
        number += mark == "%s"
        found += ["%" if mark == "%%" else f"${number}", part]
    return "".join(found)

"""Report invalid settings and an unusable database at start in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def exit_with_one_sentence() -> Iterator[None]:
    """Exit with status 1 and one sentence on stderr if the block raises an error of the start.

    It is ImproperlyConfigured or an error of the database. With ``--traceback`` in the command
    line, errors are raised as they are.
    """
    from django.core.exceptions import ImproperlyConfigured
    from django.db import Error

    try:
        yield
    except (ImproperlyConfigured, Error) as error:
        if "--traceback" in sys.argv:
            raise
        reason = " ".join(str(error).split())[:500]
        if isinstance(error, ImproperlyConfigured):
            sentence = f"A setting is invalid: {reason}"
        else:
            sentence = (
                f"The database cannot be used: {reason}. Check DATABASE_URL and DATA_DIR; if "
                "tables or columns are missing, run `manage.py migrate` with this release."
            )
        sys.exit(sentence)  # with status 1

"""Steps of bench_http.py in the environment of the measured installation. Not a benchmark.

python benchmarks/http_setup.py sign-in                      print a token and a session's key
python benchmarks/http_setup.py fill-queue PROJECT COUNT     create that many items
python benchmarks/http_setup.py time-next-item PROJECT       print the median milliseconds
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BATCH_SIZE = 50_000
N_TIMES = 60


def sign_in() -> None:
    """Print a token and the key of a session of a superuser."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    from projects.services import tokens

    user, _created = User.objects.get_or_create(username="bench", is_superuser=True)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    print(tokens.create_token(user=user), session.session_key)


def fill_queue(project_id: str, count: str) -> None:
    """Create items in batches."""
    from projects.models import Item

    for start in range(0, int(count), BATCH_SIZE):
        Item.objects.bulk_create(
            Item(
                project_id=int(project_id),
                key=f"q{number:08}",
                body={"text": "A review"},
                has_content=True,
            )
            for number in range(start, min(start + BATCH_SIZE, int(count)))
        )


def time_next_item(project_id: str) -> None:
    """Print the median milliseconds in which the queue returns the next item."""
    from django.utils import timezone

    from projects.models import Rater
    from ratings.annotation.assignments import queue
    from ratings.models import Assignment

    rater = Rater.objects.select_related("project").get(project=int(project_id))
    times = []
    for _ in range(N_TIMES):
        open_assignments = Assignment.objects.filter(rater=rater, state=Assignment.State.OPEN)
        open_assignments.update(state=Assignment.State.SKIPPED, closed_at=timezone.now())
        started = time.perf_counter()
        if queue.get_next_item(rater) is None:
            sys.exit("the queue is empty")
        times.append(time.perf_counter() - started)
    print(1000 * statistics.median(times))


STEPS: dict[str, Callable[..., None]] = {
    "sign-in": sign_in,
    "fill-queue": fill_queue,
    "time-next-item": time_next_item,
}


if __name__ == "__main__":
    import django

    django.setup()
    STEPS[sys.argv[1]](*sys.argv[2:])

"""The web server: granian with the settings that Concord needs.

    HOST=127.0.0.1 PORT=8000 python -m agreement_site.server.web_server

WEB_PROCESSES processes are forked; each works on WEB_THREADS requests at a time (seats.py).
SIGTERM stops it when the requests that are under way are answered.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .probes import Probes

# Threads of a process. Most wait: for the rest of a body, for a seat, for a client to read.
THREADS = 256
# Connections of all processes together. Who comes when all are open waits in the kernel's queue.
CONNECTIONS = 2048
# A request's headers must be there in this time; a kept connection that is silent ends too.
HEADER_MILLISECONDS = 15_000
HEADER_BYTES = 1 << 16  # of all headers of a request together
# When the server is stopped, requests that are under way have so long.
STOP_SECONDS = 25
# A process is renewed after a day, so that neither a leak nor a client that went away adds up.
LIFETIME_SECONDS = 24 * 60 * 60


def free_address(host: str, port: int) -> tuple[str, int]:
    """The address in numbers, with a free port for port 0. Raises OSError where somebody listens.

    Granian takes numbers alone, and would share the port with a server that listens there already.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        address, free, *_rest = probe.getsockname()
    return address, free


def site() -> Probes:
    """What each process serves."""
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application

    from agreement_site.server.concurrency import Seats
    from agreement_site.server.probes import Probes

    return Probes(Seats(get_wsgi_application(), settings.WEB_THREADS))


def load() -> None:
    """Load the site before the processes are forked: they share what they do not change."""
    import django
    from django.urls import reverse

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agreement_site.settings")
    django.setup()
    reverse("healthz")  # loads the URLs, and with them every view
    # Collecting garbage writes to every object it looks at, which would be shared no more.
    gc.collect()
    gc.freeze()


def main() -> None:
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    host, port = os.environ.get("HOST") or "127.0.0.1", int(os.environ.get("PORT") or 8000)
    try:
        host, port = free_address(host, port)
    except OSError as error:
        sys.exit(f"The web server cannot listen on {host}, port {port}: {error.strerror or error}.")
    load()
    from django.conf import settings

    from agreement_site import releases

    releases.refuse_other_tables()
    if settings.METRICS_TOKEN:
        from agreement_site.monitoring.prometheus import forget_processes

        forget_processes(settings.METRICS_DIR)

    Granian(
        "agreement_site.server.web_server:site",
        factory=True,
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=settings.WEB_PROCESSES,
        blocking_threads=THREADS,
        backlog=CONNECTIONS,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            header_read_timeout=HEADER_MILLISECONDS,
            max_buffer_size=HEADER_BYTES,
        ),
        websockets=False,
        respawn_failed_workers=True,
        workers_lifetime=LIFETIME_SECONDS,
        workers_kill_timeout=STOP_SECONDS,
        log_level=LogLevels.error,  # its warnings advise against so many threads
        log_dictconfig=settings.LOGGING,
    ).serve()


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Concord's command line: `python manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    is_file_command = sys.argv[1:2] == ["agreement"]
    settings_module = f"agreement_site.{'server.file_settings' if is_file_command else 'settings'}"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings_module)
    # The matrices are small: on a busy machine, more threads of BLAS only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:2] == ["services"]:
        # The supervisor does not need Django, so it stays small and starts fast.
        from agreement_site.server.launcher import main as supervise

        sys.exit(supervise(sys.argv[2:]))

    if sys.stderr is not None and sys.stderr.isatty():
        # A person reads the output; what is logged besides is in the audit log.
        os.environ.setdefault("LOG_LEVEL", "WARNING")

    from django.core.management import execute_from_command_line

    from agreement_site.startup_errors import exit_with_one_sentence

    with exit_with_one_sentence():
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()

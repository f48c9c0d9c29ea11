"""Migrate the database and print how to sign in, before `make run` starts the site.

One process runs both commands, because most of their time is the start of Django.
"""

import sys

import django
from django.core.management import call_command

from agreement_site.startup_errors import exit_with_one_sentence


def main() -> None:
    with exit_with_one_sentence():
        django.setup()
        call_command("migrate", verbosity=0, interactive=False)
        call_command("create_first_user", show="--show" in sys.argv)


if __name__ == "__main__":
    main()

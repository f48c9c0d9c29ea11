"""Brings the database up to date and prints how to sign in: what `make run` does before the site
starts.

One process for both commands, because most of their time is the start of Django.
"""

import sys

import django
from django.core.management import call_command


def main() -> None:
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("first_sign_in", show="--show" in sys.argv)


if __name__ == "__main__":
    main()

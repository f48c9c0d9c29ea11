"""Commands in a terminal print what was asked for, without log lines between."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tests.agreement_site.server.conftest import BASE_DIR

SCRIPT = "from django.conf import settings; print(settings.LOG_LEVEL)"


@pytest.mark.parametrize(("is_terminal", "level"), [(True, "WARNING"), (False, "INFO")])
def test_level_depends_on_the_terminal(is_terminal: bool, level: str) -> None:
    controller, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "LOG_LEVEL"}
    try:
        result = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v", "0", "-c", SCRIPT],
            cwd=BASE_DIR,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=terminal if is_terminal else subprocess.PIPE,
            check=True,
        )
    finally:
        os.close(controller)
        os.close(terminal)
    assert result.stdout.decode().strip() == level

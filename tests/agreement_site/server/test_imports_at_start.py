"""The number of modules that a web process and a worker import at their start.

Each takes time at every start, and memory in every process that is not a fork.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

# As the programs load the site before they serve, and before the first sweep.
LOAD = {
    "web": """
from agreement_site.server import web_server
web_server.preload_site()
""",
    "worker": """
import django
from django.utils.module_loading import import_string
from agreement_site.celery import Sweeper, app
django.setup()
app.loader.import_default_modules()
for path in Sweeper.SWEEPS:
    import_string(path)
""",
}
# With the packages of requirements-extra.txt. Import what few requests or jobs need where they need
# it, before you raise a number.
MAX_MODULES = {"web": 2_750, "worker": 2_330}
# Large packages that only single pages, jobs or settings need.
LOADED_LATER = ("onelogin", "pyarrow", "scipy.optimize", "scipy.stats", "sentry_sdk", "vl_convert")


@pytest.mark.parametrize("program", LOAD)
def test_start_imports_no_more_modules_than_needed(program: str) -> None:
    code = f"import sys{LOAD[program]}print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    packages = Counter(name.partition(".")[0] for name in modules)
    assert len(modules) <= MAX_MODULES[program], packages.most_common(20)
    assert [name for name in LOADED_LATER if name in modules] == []

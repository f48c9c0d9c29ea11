"""Cost of an idle `make run`: seconds to the first page, memory and processor time per process.

Memory is the proportional set size, in which pages shared by several processes count once in the
sum. The resident set size counts them once per process. The idle site has N_PROJECTS projects, of
which the examples have ratings and results, and is at rest: the workers' half a minute of faster
sweeps after the last change is over. Linux only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BASE_DIR))

from tests.agreement_site.server.conftest import ServicesInstallation, find_free_port

N_STARTS = 3
N_PROJECTS = 17  # of the idle site
IDLE_SECONDS = 60.0  # over which processor time is measured; no sweep rests longer than 30 s
SETTLE_SECONDS = 45.0  # after the last request: Sweeper.AWAKE_SECONDS, and the sweeps under way

# Run by `manage.py shell` of the installation: the projects beside the examples.
CREATE_PROJECTS = f"""
from projects.models import Project, Question
n_missing = {N_PROJECTS} - Project.objects.count()
projects = Project.objects.bulk_create(Project(name=f"project {{n}}") for n in range(n_missing))
Question.objects.bulk_create(
    Question(project=project, key="q", text="Which?", scale="ordinal") for project in projects
)
"""


def describe_process(command: str) -> str:
    """Return the name of a process, from its command line."""
    for word, name in {
        "concord supervisor": "supervisor",
        "while read": "watcher (shell)",
        "celery": "worker (Celery)",
        "web_server": "web (granian)",
        "valkey": "broker (Valkey)",
    }.items():
        if word in command:
            return name
    return command[:40]


def read_memory(pid: int) -> tuple[float, float]:
    """Return the proportional and the resident set size in MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines[1:]}
    return sizes["Pss"], sizes["Rss"]


def read_processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_start(installation: ServicesInstallation) -> float:
    """Start the installation; return the seconds from the command to the site's first response."""
    started = time.perf_counter()
    installation.start()
    return time.perf_counter() - started


def measure_stop(installation: ServicesInstallation) -> float:
    """Stop the installation; return the seconds from SIGTERM to the end of the last process."""
    assert installation.process is not None
    started = time.perf_counter()
    installation.process.send_signal(signal.SIGTERM)
    installation.process.wait()
    assert not installation.list_processes()
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="concord-") as folder:
        installation = ServicesInstallation(Path(folder).resolve(), find_free_port())
        try:
            measure_installation(installation)
        finally:
            installation.kill_all()


def measure_installation(installation: ServicesInstallation) -> None:
    print("| what | seconds |\n|---|---|")
    print(f"| first page, new data folder | {measure_start(installation):.2f} |", flush=True)
    for _ in range(N_STARTS):
        print(f"| stop | {measure_stop(installation):.2f} |")
        print(f"| first page, started again | {measure_start(installation):.2f} |", flush=True)
    measure_idle_site(installation)


def fill_site(installation: ServicesInstallation) -> None:
    """Create N_PROJECTS projects and request pages of both web processes."""
    broker = f"redis+socket://{installation.data_dir}/valkey.sock"
    environment = {**installation.build_environment(), "REDIS_URL": broker}
    for arguments in (["load_example"], ["shell", "--command", CREATE_PROJECTS]):
        command = [sys.executable, str(BASE_DIR / "manage.py"), *arguments]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    for path in ("/", "/healthz") * 4:
        with urllib.request.urlopen(f"http://127.0.0.1:{installation.port}{path}") as response:
            response.read()


def measure_idle_site(installation: ServicesInstallation) -> None:
    """Print memory and processor time of each process while nothing happens."""
    fill_site(installation)
    time.sleep(SETTLE_SECONDS)
    processor_before = {pid: read_processor_seconds(pid) for pid in installation.list_processes()}
    time.sleep(IDLE_SECONDS)
    print("\n| process | PSS MB | RSS MB | CPU % |\n|---|---|---|---|")
    total = [0.0, 0.0, 0.0]
    for pid, command in sorted(installation.list_processes().items()):
        row = [
            *read_memory(pid),
            100 * (read_processor_seconds(pid) - processor_before[pid]) / IDLE_SECONDS,
        ]
        total = [sum(pair) for pair in zip(total, row, strict=True)]
        print(f"| {describe_process(command)} | {row[0]:.1f} | {row[1]:.1f} | {row[2]:.2f} |")
    print(f"| all | {total[0]:.1f} | {total[1]:.1f} | {total[2]:.2f} |")


if __name__ == "__main__":
    main()

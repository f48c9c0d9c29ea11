"""What `make run` costs at rest: time to the first page, memory and processor time of every
process.

Memory is the proportional set size: pages that several processes share are counted once in the sum.
The resident set size counts them once a process. Linux only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BASE_DIR))

from tests.agreement_site.server.conftest import Installation, free_port

STARTS = 3
REST = 20.0  # seconds of idling over which processor time is measured


def name_of(command: str) -> str:
    """What a process is, from its command line."""
    for word, name in {
        "manage.py": "supervisor",
        "while read": "watcher (shell)",
        "celery": "worker (Celery)",
        "web_server": "web (granian)",
        "valkey": "broker (Valkey)",
    }.items():
        if word in command:
            return name
    return command[:40]


def memory(pid: int) -> tuple[float, float]:
    """Proportional and resident set size in MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines[1:]}
    return sizes["Pss"], sizes["Rss"]


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(installation: Installation) -> float:
    """Seconds from the command to the first answer of the site."""
    begun = time.perf_counter()
    installation.start()
    return time.perf_counter() - begun


def stop(installation: Installation) -> float:
    """Seconds from SIGTERM to the end of the last process."""
    assert installation.process is not None
    begun = time.perf_counter()
    installation.process.send_signal(signal.SIGTERM)
    installation.process.wait()
    assert not installation.processes()
    return time.perf_counter() - begun


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="concord-") as folder:
        installation = Installation(Path(folder).resolve(), free_port())
        try:
            measure(installation)
        finally:
            installation.kill_everything()


def measure(installation: Installation) -> None:
    print(f"first page, new data folder     {start(installation):6.2f} s")
    for _ in range(STARTS):
        print(f"stop                            {stop(installation):6.2f} s")
        print(f"first page, set up              {start(installation):6.2f} s")
    for path in ("/", "/healthz") * 4:  # both web processes have served pages
        subprocess.run(
            [
                sys.executable,
                "-c",
                f"import urllib.request as u; u.urlopen('http://127.0.0.1:{installation.port}{path}')",
            ],
            check=True,
        )
    used = {pid: processor_seconds(pid) for pid in installation.processes()}
    time.sleep(REST)
    print(f"\n{'process':24} {'PSS MB':>8} {'RSS MB':>8} {'CPU %':>8}")
    total = [0.0, 0.0, 0.0]
    for pid, command in sorted(installation.processes().items()):
        row = [*memory(pid), 100 * (processor_seconds(pid) - used[pid]) / REST]
        total = [sum(pair) for pair in zip(total, row, strict=True)]
        print(f"{name_of(command):24} {row[0]:8.1f} {row[1]:8.1f} {row[2]:8.2f}")
    print(f"{'all':24} {total[0]:8.1f} {total[1]:8.1f} {total[2]:8.2f}")


if __name__ == "__main__":
    main()

"""Tests of the supervisor with small shell programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agreement_site.server import embedded_broker
from tests.agreement_site.server.conftest import BASE_DIR, wait_for

pytestmark = pytest.mark.services

SCRIPT = """
import sys
from agreement_site.server.supervisor import Program, Supervisor
program = Program("The program", ["/bin/sh", "-c", sys.argv[2]], stop_timeout=1)
sys.exit(Supervisor([program], end_with_parent=sys.argv[1] == "bound").run())
"""


# The function writes its process number; the command writes a word and goes on.
FORK_SCRIPT = """
import os, pathlib, sys, time
from agreement_site.server.launcher import lock_data_dir
from agreement_site.server.supervisor import Program, Supervisor
folder = pathlib.Path(sys.argv[1])
def run():
    (folder / "pid").write_text(str(os.getpid()))
    time.sleep(100)
lock = lock_data_dir(folder)
program = Program("The program", ["/bin/sh", "-c", f"echo command > {folder}/pid; sleep 100"], run)
sys.exit(Supervisor([program]).run())
"""


def build_supervisor_command(program: str, kind: str = "free") -> list[str]:
    return [sys.executable, "-c", SCRIPT, kind, program]


def start_forked_program(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Return a supervisor, and the process number of its program, which is a fork of it."""
    process = subprocess.Popen([sys.executable, "-c", FORK_SCRIPT, str(folder)], cwd=BASE_DIR)
    pid = folder / "pid"
    wait_for(lambda: pid.exists() and pid.read_text(), "the program")
    return process, pid.read_text()


def is_alive(pid: str) -> bool:
    stat_file = Path(f"/proc/{pid.strip()}/stat")
    try:
        return stat_file.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture(autouse=True)
def require_proc() -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("processes are found through /proc, which this system has not")


def test_program_that_ends_is_restarted_with_growing_delays(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = subprocess.Popen(
        build_supervisor_command(f"echo start >> {log}; exit 3"),
        cwd=BASE_DIR,
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: log.exists() and log.read_text().count("start") == 3, "three starts")
    process.terminate()
    output = process.communicate(timeout=30)[0]
    assert "The program ended (exit status 3); it is started again in 0.2 s." in output
    assert "in 0.4 s." in output


def test_children_of_a_dead_program_are_ended(tmp_path: Path) -> None:
    child = tmp_path / "child"
    process = subprocess.Popen(
        build_supervisor_command(
            f"[ -e {child} ] && sleep 100; sleep 100 & echo $! > {child}; exit 1"
        ),
        cwd=BASE_DIR,
    )
    wait_for(lambda: child.exists() and child.read_text(), "the program's child")
    pid = child.read_text()
    wait_for(lambda: not is_alive(pid), "the end of the program's child")
    process.terminate()
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_program_and_supervisor(tmp_path: Path, number: signal.Signals) -> None:
    pid = tmp_path / "pid"
    process = subprocess.Popen(
        build_supervisor_command(f"echo $$ > {pid}; exec sleep 100"), cwd=BASE_DIR
    )
    wait_for(lambda: pid.exists() and pid.read_text(), "the program")
    process.send_signal(number)
    assert process.wait(timeout=30) == 0
    assert not is_alive(pid.read_text())


def test_program_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    process = subprocess.Popen(
        build_supervisor_command(f"trap '' TERM; echo $$ > {pid}; while :; do sleep 0.1; done"),
        cwd=BASE_DIR,
    )
    wait_for(lambda: pid.exists() and pid.read_text(), "the program")
    process.terminate()
    assert process.wait(timeout=30) == 0
    assert not is_alive(pid.read_text())


def test_kill_9_of_the_supervisor_ends_programs_that_ignore_sigterm(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    process = subprocess.Popen(
        build_supervisor_command(f"trap '' TERM; echo $$ > {pid}; while :; do sleep 0.1; done"),
        cwd=BASE_DIR,
    )
    wait_for(lambda: pid.exists() and pid.read_text(), "the program")
    process.kill()
    process.wait()
    wait_for(lambda: not is_alive(pid.read_text()), "the end of the program")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_forked_program(tmp_path: Path, number: signal.Signals) -> None:
    process, pid = start_forked_program(tmp_path)
    process.send_signal(number)
    assert process.wait(timeout=30) == 0
    assert not is_alive(pid)


def test_kill_9_of_the_supervisor_ends_a_forked_program_and_its_lock(tmp_path: Path) -> None:
    process, pid = start_forked_program(tmp_path)
    os.kill(int(pid), signal.SIGSTOP)  # it cannot end before it is killed
    process.kill()
    process.wait()
    (tmp_path / "pid").unlink()
    restarted, new_pid = start_forked_program(tmp_path)  # the fork does not hold the lock
    wait_for(lambda: not is_alive(pid), "the end of the program")
    restarted.terminate()
    assert restarted.wait(timeout=30) == 0
    assert not is_alive(new_pid)


def test_forked_program_is_restarted_by_its_command(tmp_path: Path) -> None:
    """A restart runs the code that is installed by then, not what the supervisor has loaded."""
    process, pid = start_forked_program(tmp_path)
    os.kill(int(pid), signal.SIGKILL)
    wait_for(lambda: (tmp_path / "pid").read_text() == "command\n", "the command")
    process.terminate()
    assert process.wait(timeout=30) == 0


def test_bound_supervisor_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = build_supervisor_command(f"echo $$ > {pid}; exec sleep 100", kind="bound")
    starter = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"  # as `make` does
    process = subprocess.Popen([sys.executable, "-c", starter, *command], cwd=BASE_DIR)
    wait_for(lambda: pid.exists() and pid.read_text(), "the program")
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not is_alive(pid.read_text()), "the end of the program")


def test_long_data_folder_gets_a_short_socket_path(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 30)
    path = embedded_broker.get_broker_socket(data_dir)
    assert len(str(path)) < 100
    assert path == embedded_broker.get_broker_socket(data_dir)
    assert path != embedded_broker.get_broker_socket(data_dir / "other")
    path.parent.rmdir()


def test_socket_folder_of_another_user_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tmp_path / ("long" * 30)
    folder = embedded_broker.get_broker_socket(data_dir).parent
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(PermissionError, match="belongs to somebody else"):
        embedded_broker.get_broker_socket(data_dir)
    folder.unlink()


def test_rejected_start_loads_neither_django_nor_celery() -> None:
    code = "import sys; sys.argv = ['manage.py']; import agreement_site.server.launcher; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=BASE_DIR, capture_output=True, text=True, check=True
    )
    assert not {"django", "celery", "numpy", "redis"} & set(loaded.stdout.split())

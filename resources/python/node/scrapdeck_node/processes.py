"""Which process is whose: a pid is trusted only together with its start time, and only until the next boot."""

import os
import signal
import subprocess

SIGNALS = {"HUP": "SIGHUP", "INT": "SIGINT", "KILL": "SIGKILL", "STOP": "SIGSTOP", "TERM": "SIGTERM"}


def boot_id():
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        pass
    try:
        return subprocess.run(
            ["sysctl", "-n", "kern.boottime"], capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def start_of(pid):
    """When the process started, as text to compare; None: there is none (a zombie has ended)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name is in parentheses and may contain anything.
            fields = file.read().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else fields[19].decode()
    except (OSError, IndexError):
        if os.path.isdir("/proc/self"):
            return None
    try:
        shown = subprocess.run(
            ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=10, check=False
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return None if not shown or shown.startswith("Z") else shown.partition(" ")[2].strip()


def find_run(jobid):
    """The pid of the spider with this job, by its command line; None: there is none."""
    wanted = f"_job={jobid}".encode()
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return find_run_by_ps(jobid)
    for pid in pids:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    return pid
        except OSError:
            continue
    return None


def find_run_by_ps(jobid):
    try:
        shown = subprocess.run(
            ["ps", "-axww", "-o", "pid=,args="], capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    for line in shown.splitlines():
        pid, _, args = line.strip().partition(" ")
        if f"_job={jobid}" in args.split():
            return int(pid)
    return None


def send_signal(pid, name):
    number = int(name) if str(name).isdigit() else getattr(signal, SIGNALS[name])
    os.kill(pid, number)

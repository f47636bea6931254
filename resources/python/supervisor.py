"""Stands over one run, so that its end is known even when Scrapdeck is not there to see it.

    python -I -S supervisor.py RUN_DIRECTORY

Reads launch.json, starts the child and waits. The files it leaves in the run directory, in this order:

    started      claim, made once for ever (a link that must not exist): whoever fails to make it starts nothing
    child.json   {"pid", "startTime", "atMs"} of the child, which leads a session and process group of its own
    output.txt   what the child wrote to stdout and stderr, bounded; its end goes into the log of a run that failed
    exit.json    {"code", "signal", "atMs"}, written whole or not at all

Scrapdeck (src/engine/launcher/run-directory.ts) reads them. Needs nothing but the standard library.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

OUTPUT_LIMIT = 1024 * 1024
OUTPUT_KEPT = 64 * 1024
ALREADY_STARTED = 3


def main():
    os.chdir(sys.argv[1])
    # Handlers, not SIG_IGN: a child would inherit that. The supervisor goes only when its child has gone.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: None)
    with open("launch.json", encoding="utf-8") as file:
        launch = json.load(file)
    if not claim():
        sys.exit(ALREADY_STARTED)
    code, ended_by = run(launch)
    write_whole("exit.json", {"code": code, "signal": ended_by, "atMs": int(time.time() * 1000)})


def claim():
    """True for exactly one process, ever. On the disk before the child starts: power loss must not start it twice."""
    own = "started.%d" % os.getpid()
    write_whole(own, {"pid": os.getpid(), "startTime": start_time(os.getpid())})
    try:
        os.link(own, "started")
    except FileExistsError:
        return False
    finally:
        os.unlink(own)
    sync_directory()
    return True


def run(launch):
    output = os.open("output.txt", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    options = {"start_new_session": True}
    if os.name == "nt":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    try:
        for directory in launch["directories"]:
            os.makedirs(directory, exist_ok=True)
        child = subprocess.Popen(
            launch["command"],
            cwd=launch["workingDirectory"],
            env=dict(os.environ, **launch["environment"]),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            **options
        )
    except (OSError, ValueError) as error:
        os.write(output, ("The spider could not be started: %s\n" % error).encode())
        keep_output_as_log(output, launch["logFile"])
        return 1, None
    try:
        now = int(time.time() * 1000)
        write_whole("child.json", {"pid": child.pid, "startTime": start_time(child.pid), "atMs": now})
    except OSError:
        # A full disk. A spider that nobody could find again must not run: its job would be given to another node.
        child.kill()
        raise
    threading.Thread(target=bound_output, args=(output,), daemon=True).start()
    status = child.wait()
    if status != 0:
        keep_output_as_log(output, launch["logFile"])
    if status < 0:
        return None, signal_name(-status)
    return status, None


def bound_output(output):
    while True:
        time.sleep(2)
        size = os.fstat(output).st_size
        if size > OUTPUT_LIMIT:
            end = read_end("output.txt")
            os.ftruncate(output, 0)
            os.write(output, b"(output was cut here)\n" + end)


def keep_output_as_log(output, log_file):
    """A run that failed before Scrapy opened its log, or past it (an unknown spider), still has a log that says why."""
    end = read_end("output.txt")
    if not end.strip():
        return
    try:
        os.makedirs(os.path.dirname(log_file), exist_ok=True)
        if os.path.exists(log_file) and end.strip().splitlines()[-1] in read_end(log_file):
            return
        with open(log_file, "ab") as file:
            file.write(end)
    except OSError as error:
        os.write(output, ("The log could not be written: %s\n" % error).encode())


def read_end(path):
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - OUTPUT_KEPT))
        return file.read(OUTPUT_KEPT)


def start_time(pid):
    """What tells a process from a later one with the same pid; process-identity.ts makes the same text."""
    if sys.platform == "linux":
        try:
            with open("/proc/%d/stat" % pid, encoding="latin-1") as file:
                ticks = file.read().rpartition(")")[2].split()[19]
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                return "%s:%s" % (file.read().strip(), ticks)
        except OSError:
            return ""
    if sys.platform == "darwin":
        answer = subprocess.run(
            ["/bin/ps", "-o", "lstart=", "-p", str(pid)],
            stdout=subprocess.PIPE,
            env={"LC_ALL": "C", "TZ": "UTC"},
            check=False,
        )
        return answer.stdout.decode().strip()
    return ""


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG%d" % number


def write_whole(name, content):
    temporary = name + ".part"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, name)
    sync_directory()


def sync_directory():
    if os.name == "nt":
        return
    descriptor = os.open(".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main()

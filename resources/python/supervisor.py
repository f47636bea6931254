"""Supervises one run, so that its end is recorded even when Scrapdeck is not running.

    python -I -S supervisor.py RUN_DIRECTORY

Reads launch.json, starts the spider cold (crawl.py in a new Python) and waits. warm.py uses the same functions around
a fork. The files in the run directory, in this order:

    started      the claim, created exactly once (a link that must not exist yet): without it nothing is started
    begun        created exactly once: by the supervisor, which then lets the spider begin, or by an engine to prevent it
    child.json   {"pid", "startTime", "atMs"} of the spider, which leads its own session and process group
    output.txt   what the spider wrote to stdout and stderr, bounded; its end is added to the log of a run that failed
    printed.txt  its end, without secret values, of a run that did not fail
    exit.json    {"code", "signal", "atMs", "cpuSeconds", "maxRssBytes"}, written whole or not at all; the last two are
                 totals over all processes of the run, null where the system does not report them

Each is also reported immediately, as a line of JSON, to the engine that asked for the run (`tell`). Scrapdeck
(src/engine/nodes/local/runs/run-directory.ts) reads the files. Uses only the standard library.
"""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OUTPUT_LIMIT = 1024 * 1024
OUTPUT_KEPT = 64 * 1024
# At least as long as the line of crawl.py (report_finish_reason).
REPORT_BYTES = 1400
ALREADY_STARTED = 3
# How long to wait for a spider's leftover processes after killing them.
LEFTOVER_SECONDS = 5
PR_SET_CHILD_SUBREAPER = 36
# A spider may put a pipe where we expect a file: opening it must not block.
PLAIN = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def make_directories(path):
    """With the mode of the first directory above that is there: what is made in a closed one is closed, too."""
    missing = []
    place = os.path.abspath(path)
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        missing.append(place)
        place = os.path.dirname(place)
    mode = os.stat(place).st_mode & 0o777
    for place in reversed(missing):
        try:
            os.mkdir(place, mode)
        except FileExistsError:
            if not os.path.isdir(place):
                raise


class Run:
    """One run from its claim to its end. `events` is the descriptor that the engine reads from."""

    def __init__(self, directory, events):
        self.directory = directory
        self.events = events
        if os.name != "nt":
            os.set_blocking(events, False)
        self.launch = None
        # How its spider is kept apart (apart.py), and the namespaces for it; null and none: it runs as we do.
        self.apart = None
        self.sandbox = None
        self.output = -1
        self.cpu_seconds = 0.0
        self.max_rss_bytes = 0

    def tell(self, event, **details):
        """One line in one write: supervisors share the pipe. If it is not read in time, the files are enough."""
        line = json.dumps(dict(details, event=event, id=self.launch["id"])) + "\n"
        try:
            os.write(self.events, line.encode())
        except OSError:
            pass

    def take(self, launch=None):
        """Claims the run and prepares for its spider. False: another process claimed it, or it has already ended."""
        os.chdir(self.directory)
        self.launch = launch or read_json("launch.json")
        # Handlers, not SIG_IGN, which a child would inherit. The supervisor ends only after its child.
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: None)
        if not claim():
            return False
        self.tell("started", pid=os.getpid(), startTime=start_time(os.getpid()))
        adopt_orphans()
        self.output = os.open("output.txt", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.apart = self.launch.get("isolation")
            if self.apart is not None:
                apart = apart_module()
                apart.prepare(self.apart, self.directory)
                self.sandbox = apart.Sandbox(self.apart)
            for directory in self.launch["directories"]:
                make_directories(directory)
        except OSError as error:
            self.fail(error)
            return False
        return True

    def fail(self, error):
        os.write(self.output, ("The spider could not be started: %s\n" % error).encode())
        self.end(1, None)

    def stand_over(self, pid, popen=None, go=None):
        """Waits for the spider, kills what it left behind, records its exit. A line on `go` lets the spider begin: with
        the process in whose namespaces it does, or 0. A run that was cancelled before is killed without having begun."""
        inner = 0
        if self.sandbox is not None:
            try:
                inner = self.sandbox.wait()
            except OSError as error:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return self.fail(error)
        child = {"pid": pid, "startTime": start_time(pid), "atMs": now_ms()}
        try:
            is_let = begin()
            if is_let:
                write_whole("child.json", child)
        except OSError:
            # For example, a full disk. A spider that no engine could find again must not run: its job would run twice.
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            raise
        if not is_let:
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        elif go is not None:
            try:
                os.write(go, b"%d\n" % inner)
            except OSError:
                pass  # It has already been killed.
            os.close(go)
        if is_let:
            self.tell("child", **child)
        threading.Thread(target=bound_output, args=(self.output,), daemon=True).start()
        status = popen.wait() if os.name == "nt" else self.wait_for(pid)
        if popen:
            popen.returncode = status
        self.end(*((None, signal_name(-status)) if status < 0 else (status, None)))

    def wait_for(self, spider):
        status = None
        while status is None:
            pid, raw, usage = os.wait4(-1, 0)
            self.count(usage)
            if pid == spider:
                status = os.waitstatus_to_exitcode(raw)
        try:
            os.killpg(spider, signal.SIGKILL)
        except OSError:
            pass
        if self.sandbox is not None:
            self.sandbox.close()
        deadline = time.monotonic() + LEFTOVER_SECONDS
        while time.monotonic() < deadline:
            try:
                pid, _, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid:
                self.count(usage)
                continue
            # The children of a killed process become ours in turn, until none are left.
            for child in children_of(os.getpid()):
                os.kill(child, signal.SIGKILL)
            time.sleep(0.005)
        return status

    def count(self, usage):
        self.cpu_seconds += usage.ru_utime + usage.ru_stime
        unit = 1 if sys.platform == "darwin" else 1024
        self.max_rss_bytes = max(self.max_rss_bytes, usage.ru_maxrss * unit)

    def end(self, code, ended_by):
        if self.apart is not None:
            if self.sandbox is not None:
                self.sandbox.close()
            apart_module().clear(self.apart)
        output, finish_reason = take_finish_reason(read_end("output.txt", OUTPUT_KEPT + REPORT_BYTES))
        output = output[-OUTPUT_KEPT:]
        if finish_reason is not None:
            # A spider may have printed the line: with any text, also what is no Unicode.
            finish_reason = self.without_secrets(finish_reason.encode("utf-8", "replace")).decode("utf-8", "replace")[:200]
        if code == 0:
            self.keep_output(output)
        else:
            self.keep_output_as_log(output)
        ending = {
            "code": code,
            "signal": ended_by,
            "finishReason": finish_reason,
            "atMs": now_ms(),
            "cpuSeconds": round(self.cpu_seconds, 3) if self.max_rss_bytes else None,
            "maxRssBytes": self.max_rss_bytes or None,
        }
        try:
            write_whole("exit.json", ending)
        finally:
            # Even if it could not be written: a spider may have removed the directory.
            self.tell("exit", **ending)
        # After reporting, so that nothing waits for the disk. If power loss takes the file, the end was reported or is unknown.
        sync("exit.json")
        sync(".")

    def keep_output(self, end):
        """What a good run printed, for those who may read its log; output.txt is deleted."""
        if not end.strip():
            return
        try:
            write_bytes("printed.txt", self.without_secrets(end))
        except OSError as error:
            os.write(self.output, ("The output could not be kept: %s\n" % error).encode())

    def keep_output_as_log(self, end):
        """Gives a run that failed before or without Scrapy's log (an unknown spider) a log that says why."""
        log_file = self.launch["logFile"]
        if not log_file or not end.strip():
            return
        try:
            make_directories(os.path.dirname(log_file))
            if os.path.exists(log_file) and end.strip().splitlines()[-1] in read_end(log_file):
                return
            with open(os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | PLAIN, 0o666), "ab") as file:
                file.write(self.without_secrets(end))
        except OSError as error:
            os.write(self.output, ("The log could not be written: %s\n" % error).encode())

    def without_secrets(self, text):
        if not self.launch["secrets"]:
            return text
        sys.path.insert(0, HERE)
        from hidden_values import hider_of

        if len(text) == OUTPUT_KEPT:
            # What is left of a value that was cut would not be recognised.
            text = text.partition(b"\n")[2]
        hide = hider_of(self.launch["secrets"])
        return hide(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape") if hide else text


def main():
    run = Run(sys.argv[1], events=1)
    if not run.take():
        sys.exit(ALREADY_STARTED)
    options = {"start_new_session": True}
    if os.name == "nt":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    launch = run.launch
    if run.apart is not None:
        pid, go = apart_module().start_cold(run, os.path.join(HERE, "crawl.py"))
        return run.stand_over(pid, go=go)
    try:
        # The rest is in launch.json: settings and arguments may contain secrets, and anybody can read a command line.
        child = subprocess.Popen(
            [launch["python"], os.path.join(HERE, "crawl.py"), run.directory, launch["project"], launch["spider"]],
            cwd=launch["workingDirectory"],
            env=dict(os.environ, **launch["environment"]),
            stdin=subprocess.DEVNULL,
            stdout=run.output,
            stderr=run.output,
            **options
        )
    except (OSError, ValueError) as error:
        return run.fail(error)
    run.stand_over(child.pid, child)


def apart_module():
    """Only where it is needed: not every system has what it imports."""
    if HERE not in sys.path:
        sys.path.insert(0, HERE)
    import apart

    return apart


def claim():
    """True for exactly one process, ever. Synced before the spider starts: power loss must not cause a second start."""
    own = "started.%d" % os.getpid()
    write_whole(own, {"pid": os.getpid(), "startTime": start_time(os.getpid())})
    try:
        os.link(own, "started")
    except FileExistsError:
        return False
    finally:
        os.unlink(own)
    sync(".")
    return True


def begin():
    """False: an engine has cancelled the run. Not synced: after a power loss there is no spider that could begin."""
    try:
        os.close(os.open("begun", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def adopt_orphans():
    """Makes us the parent of processes that the spider leaves behind, whatever session or group they are in."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError):
        # A Python without ctypes: processes that left the spider's group outlive it.
        pass


def children_of(parent):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="latin-1") as file:
                    state, ppid = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(ppid) == parent and state != "Z":
                found.append(int(name))
    return found


def bound_output(output):
    while True:
        time.sleep(2)
        size = os.fstat(output).st_size
        if size > OUTPUT_LIMIT:
            end = read_end("output.txt")
            os.ftruncate(output, 0)
            os.write(output, b"(output was cut here)\n" + end)


def read_end(path, most_bytes=OUTPUT_KEPT):
    try:
        descriptor = os.open(path, os.O_RDONLY | PLAIN)
    except OSError:
        return b""  # A spider removed it.
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return b""
        file.seek(max(0, status.st_size - most_bytes))
        return file.read(most_bytes)


def take_finish_reason(output):
    """The output without the lines of crawl.py (report_finish_reason), and what the last one says."""
    import re

    line = rb'\nScrapdeck: the spider closed: ("[^\n]{0,1300}")\n'
    said = re.findall(line, output)
    try:
        return re.sub(line, b"", output), str(json.loads(said[-1])) if said else None
    except ValueError:
        return output, None  # A spider printed something like it.


def start_time(pid):
    """Tells a process from a later one with the same pid; process-identity.ts builds the same text."""
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


def now_ms():
    return int(time.time() * 1000)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_whole(name, content):
    write_bytes(name, json.dumps(content).encode("utf-8"))


def write_bytes(name, content):
    """Atomic for readers, but not synced: after power loss the file may be empty, which proves nothing."""
    temporary = name + ".part"
    # Never write to an existing file, which may be a spider's: a pipe, or a link to another file.
    try:
        os.unlink(temporary)
    except FileNotFoundError:
        pass
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    os.replace(temporary, name)


def sync(path):
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    # As in warm.py: the installed app must stay as it was installed.
    sys.dont_write_bytecode = True
    main()

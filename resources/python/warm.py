"""Keeps Python and Scrapy loaded, so that a spider starts with a fork instead of half a second of imports.

    python warm.py MODULES_FILE

Reads requests from stdin and reports on stdout, one JSON object per line (src/engine/launcher/warm/warm-pool.ts):

    {"event": "ready", "watched": {path: mtime in ns}}      or {"event": "failed", "reason": text}, then exit
    {"do": "start", "directory": run directory, "launch": as in launch.json}      -> the events of supervisor.py's Run
    {"do": "list", "directory": empty folder, "launch": ...}      -> the same; the spiders are in spiders.json
    {"event": "gone", "id": id of the launch}      the supervisor of that run has ended, whatever it reported

    this process -- fork --> supervisor (claims, waits, reports) -- fork, new session --> the spider

It ends when stdin closes; supervisors and spiders continue. It imports what Scrapy was observed to import (in a dry
crawl in a fork, stored in MODULES_FILE), but never a Twisted reactor: the project chooses it, and it belongs to one
process. It never imports anything from a project. `become_spider` removes nearly every trace of the fork; one remains:
spiders of the same parent share their random hash seed.
"""

import gc

gc.disable()

import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
if HERE not in sys.path:
    sys.path.insert(0, HERE)

import crawl  # noqa: E402
import hidden_values  # noqa: E402,F401
import supervisor  # noqa: E402

REACTOR = "twisted.internet.reactor"
CONTROL, EVENTS = 0, 1
REAP_SECONDS = 1
PR_SET_PDEATHSIG = 1
DRY_SETTINGS, DRY_SPIDERS = "scrapdeck_dry_settings", "scrapdeck_dry_spiders"
LARGEST_REQUEST = 16 * 1024 * 1024


def main():
    crawl.forget_our_modules()
    modules_file = os.path.abspath(sys.argv[1])
    control, events = take_channels()
    if changes_locale_for_children():
        restart(control, events)
    # The interpreter's state before any import changed it: each spider starts with it.
    fresh = {"environ": dict(os.environ), "path": list(sys.path), "streams": (sys.stdin, sys.stdout, sys.stderr)}
    watched = read_watched()
    try:
        names, excluded = read_modules(modules_file, watched)
        if names is None:
            names = learn(events, control, modules_file + ".dry")
        culprits = import_all(name for name in names if name not in excluded)
        if culprits:
            # They are half imported now: a new process leaves them out.
            write_modules(modules_file, watched, names, excluded + culprits)
            restart(control, events)
        write_modules(modules_file, watched, names, excluded)
        fill_caches()
        refuse_threads()
    except Exception as error:
        tell(events, event="failed", reason="%s: %s" % (type(error).__name__, error))
        raise
    import ctypes  # noqa: F401  for supervisors

    gc.collect()
    gc.freeze()
    tell(events, event="ready", watched=watched)
    request = serve(control, events)
    # From here on we are a supervisor.
    os.close(control)
    run = supervisor.Run(request["directory"], events)
    if not run.take(request["launch"]):
        os._exit(supervisor.ALREADY_STARTED)
    import signal

    # A signal to the spider must reach it from its first moment, not one of our handlers.
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    (has_group, gets_group), (may_go, go) = os.pipe(), os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        run.fail(error)
        os._exit(0)
    if pid == 0:
        os.setsid()
        for descriptor in (events, has_group, gets_group, go):
            os.close(descriptor)
        become_spider(run, fresh)
        if not os.read(may_go, 1):
            os._exit(1)  # Our supervisor was killed, or the disk is full: no engine could find us.
        os.close(may_go)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        if request["do"] == "list":
            answer = os.open(os.path.join(run.directory, "spiders.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            finish(crawl.list_spiders, run.launch["source"], answer)
        finish(crawl.run, run.launch)
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    os.close(may_go)
    os.close(gets_group)
    show_as([sys.executable, supervisor.__file__, run.directory])
    # The engine may signal the process group as soon as it is reported, so it must exist by then.
    os.read(has_group, 1)
    os.close(has_group)
    run.stand_over(pid, go=go)
    os._exit(0)


def take_channels():
    """Moves the engine's pipes away from stdin and stdout, which every child inherits."""
    import fcntl

    os.closerange(3, 4096)
    control = fcntl.fcntl(CONTROL, fcntl.F_DUPFD_CLOEXEC, 100)
    events = fcntl.fcntl(EVENTS, fcntl.F_DUPFD_CLOEXEC, 100)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return control, events


def changes_locale_for_children():
    """In the C locale, Python is in UTF-8 mode and gives its children LC_CTYPE=C.UTF-8, so that they are not (PEP 538,
    540). A spider that is started cold is such a child, so a warm one must be too."""
    import _locale

    current = _locale.setlocale(_locale.LC_CTYPE)
    is_asked = "PYTHONUTF8" in os.environ or "utf8" in sys._xoptions
    is_coerced = current not in ("C", "POSIX") and os.environ.get("LC_CTYPE") == current
    return sys.flags.utf8_mode == 1 and not is_asked and is_coerced


def restart(control, events):
    os.dup2(control, CONTROL)
    os.dup2(events, EVENTS)
    os.execv(sys.executable, [sys.executable] + sys.orig_argv[1:])


def serve(control, events):
    """Serves requests forever; returns only in a forked supervisor, with the request it was forked for."""
    import select

    supervisors = {}
    received = b""
    while True:
        readable = select.select([control], [], [], REAP_SECONDS if supervisors else None)[0]
        if readable:
            chunk = os.read(control, 65536)
            if not chunk:
                os._exit(0)
            *lines, received = (received + chunk).split(b"\n")
            for line in lines:
                request = json.loads(line)
                pid = os.fork()
                if pid == 0:
                    os.setsid()
                    return request
                supervisors[pid] = request["launch"]["id"]
            if len(received) > LARGEST_REQUEST:
                os._exit(1)
        reap(supervisors, events)


def reap(supervisors, events):
    while supervisors:
        pid = os.waitpid(-1, os.WNOHANG)[0]
        if pid == 0:
            return
        tell(events, event="gone", id=supervisors.pop(pid, None))


def become_spider(run, fresh):
    """Makes a forked child look like a Python that has just started."""
    import logging
    import random
    import signal
    import threading
    import time
    import types

    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(run.output, 1)
    os.dup2(run.output, 2)
    os.close(nothing)
    os.close(run.output)
    os.chdir(run.launch["workingDirectory"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(fresh["environ"])
    os.environ.update(run.launch["environment"])
    time.tzset()
    sys.stdin = sys.__stdin__ = open_standard(0, fresh["streams"][0])
    sys.stdout = sys.__stdout__ = open_standard(1, fresh["streams"][1])
    sys.stderr = sys.__stderr__ = open_standard(2, fresh["streams"][2])
    if hasattr(threading.main_thread(), "_set_native_id"):
        threading.main_thread()._set_native_id()
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()
    command = [run.launch["python"], crawl.__file__, run.directory, run.launch["project"], run.launch["spider"]]
    show_as(command)
    sys.orig_argv = command
    sys.path[:] = fresh["path"]
    crawl.forget_our_modules()
    main_module = types.ModuleType("__main__")
    vars(main_module).update(vars(crawl), __name__="__main__", __package__=None, __spec__=None, __cached__=None)
    vars(main_module).setdefault("__annotations__", {})
    KEPT.append(sys.modules["__main__"])
    sys.modules["__main__"] = main_module
    gc.enable()


KEPT = []


def finish(work, *arguments):
    """Does the work and ends the process as Python would, except that the heap shared with the parent is not torn down:
    that would copy all of it and take as long as a small crawl."""
    import atexit
    import signal
    import threading

    is_interrupted = False
    try:
        work(*arguments)
        code = 0
    except SystemExit as end:
        code = end.code
        if code is None:
            code = 0
        elif not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        is_interrupted = isinstance(error, KeyboardInterrupt)
        sys.excepthook(type(error), error, error.__traceback__.tb_next)
        code = 1
    for step in (threading._shutdown, atexit._run_exitfuncs, finalize, sys.stdout.flush, sys.stderr.flush):
        try:
            step()
        except BaseException:
            complain(step)
    if is_interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    try:
        import ctypes

        # Runs the exit handlers of C libraries and flushes their buffers; holds the GIL, so no Python thread continues.
        ctypes.PyDLL(None).exit(code & 0xFF)
    finally:
        os._exit(code & 0xFF)


def finalize():
    """Does what a Python does at its end to leftover objects: calls `__del__`, which also flushes unclosed files."""
    ranks = {}
    left_over = [[], [], [], []]
    standard = {id(layer) for stream in (sys.stdin, sys.stdout, sys.stderr) for layer in layers_of(stream)}
    task = getattr(sys.modules.get("asyncio"), "Task", ())
    for thing in gc.get_objects():  # The parent's are frozen and not included.
        kind = type(thing)
        if kind not in ranks:
            ranks[kind] = rank_of(kind)
        if issubclass(kind, task) and not thing.done():
            continue  # In a normal exit its loop keeps it alive to the end, so it never complains about being pending.
        if ranks[kind] is not None and id(thing) not in standard:
            left_over[ranks[kind]].append(thing)
    for things in left_over:
        for thing in things:
            try:
                thing.__del__()
            except BaseException:
                complain(thing)


def layers_of(stream):
    """A text stream, its buffer, and the raw file below (the buffer itself if unbuffered)."""
    buffer = getattr(stream, "buffer", None)
    return stream, buffer, getattr(buffer, "raw", None)


def rank_of(kind):
    """The order of finalizing: objects may write to files, text files to binary ones, compressed ones to plain ones."""
    import io

    if not hasattr(kind, "__del__"):
        return None
    if not issubclass(kind, io.IOBase):
        return 0
    if issubclass(kind, io.TextIOBase):
        return 1
    return 3 if kind.__module__ == "_io" else 2


def complain(thing):
    """Prints what Python prints for an exception that nothing can catch."""
    import traceback

    sys.stderr.write("Exception ignored in: %r\n%s" % (thing, traceback.format_exc()))


def open_standard(descriptor, like):
    """A standard stream as Python opens it at startup, on the file that the descriptor refers to now."""
    import io

    mode = like.mode
    buffering = 0 if mode == "w" and like.write_through else -1
    buffer = io.open(descriptor, mode + "b", buffering, closefd=False)
    getattr(buffer, "raw", buffer).name = like.name
    stream = io.TextIOWrapper(
        buffer,
        encoding=like.encoding,
        errors=like.errors,
        newline="\n" if mode == "w" else None,
        line_buffering=like.line_buffering,
        write_through=like.write_through,
    )
    stream.mode = mode
    return stream


def show_as(command):
    """Changes what ps shows, by overwriting our own arguments as far as there is room."""
    if sys.platform != "linux":
        return
    import ctypes

    try:
        with open("/proc/self/stat", encoding="latin-1") as file:
            fields = file.read().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        text = b"\0".join(map(os.fsencode, command))[: end - start - 1]
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, text, len(text))
    except (OSError, ValueError, IndexError):
        pass


def tell(events, **event):
    try:
        os.write(events, (json.dumps(event) + "\n").encode())
    except OSError:
        pass


def read_watched():
    """Modification times that change when packages are added, removed or changed; read before importing any."""
    paths = [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg"), *sys.path]
    watched = {}
    for path in paths:
        try:
            watched[os.path.abspath(path)] = str(os.stat(path).st_mtime_ns)
        except OSError:
            pass
    return watched


def read_modules(path, watched):
    """What was learned for exactly these packages; None if it must be learned again."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content["watched"] == watched:
            return content["modules"], content["excluded"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None, []


def write_modules(path, watched, names, excluded):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = "%s.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"watched": watched, "modules": names, "excluded": excluded}, file)
    os.replace(temporary, path)


class ReactorGuard:
    """Prevents imports of a reactor, and records which modules tried."""

    def __init__(self):
        self.culprits = []

    def find_spec(self, name, path=None, target=None):
        if name == REACTOR:
            frame = sys._getframe()
            while frame:
                module = frame.f_globals.get("__name__")
                if frame.f_code.co_name == "<module>" and module != "__main__" and module not in self.culprits:
                    self.culprits.append(module)
                frame = frame.f_back
            raise ImportError("%s is not for the parent of spiders" % REACTOR)
        return None


def import_all(names):
    """Returns the modules that import a reactor; if there are any, this process must be replaced."""
    guard = ReactorGuard()
    sys.meta_path.insert(0, guard)
    try:
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:
                # It worked in the dry crawl. Spiders that need the module import it themselves.
                pass
    finally:
        sys.meta_path.remove(guard)
    if REACTOR in sys.modules:
        raise RuntimeError("a Twisted reactor was imported")
    return guard.culprits


def fill_caches():
    """Computes in advance what every spider logs in its first lines; none of it depends on the project."""
    import importlib.metadata
    import platform

    platform.platform()
    importlib.metadata.entry_points(group="scrapy.commands")
    try:
        from scrapy.utils.versions import get_versions

        get_versions()
    except Exception:
        pass  # A different Scrapy: its spiders start a few milliseconds later.


def refuse_threads():
    import threading

    native = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 1
    if threading.active_count() > 1 or native > 1:
        raise RuntimeError("a package of this environment starts threads when it is imported")


def learn(events, control, directory):
    """Runs a crawl in a fork and returns the names of the modules it imported, in order."""
    import shutil

    # A parent that was killed while learning left its own.
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(events)
        os.close(control)
        os.close(reading)
        os.setsid()
        os.chdir(directory)
        try:
            end_with_parent()
            dry_crawl(directory)
        except BaseException as error:
            with os.fdopen(writing, "w") as file:
                json.dump("%s: %s" % (type(error).__name__, error), file)
            os._exit(1)
        ours = {"__main__", "__mp_main__", REACTOR, DRY_SETTINGS, DRY_SPIDERS}
        names = [
            name
            for name, module in list(sys.modules.items())
            if name not in ours and getattr(module, "__spec__", None) is not None
        ]
        with os.fdopen(writing, "w") as file:
            json.dump(names, file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(pid, 0)
    shutil.rmtree(directory, ignore_errors=True)
    names = json.loads(text) if text else "it was killed"
    if isinstance(names, str):
        raise RuntimeError("a crawl of one page did not work (%s)" % names)
    return names


def end_with_parent():
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)


def dry_crawl(directory):
    """Runs a spider that fetches one page from this process and yields one item, as crawl.py would."""
    import pathlib
    import signal
    import socket
    import threading
    import types

    signal.alarm(60)
    listener = socket.create_server(("127.0.0.1", 0))

    def answer():
        while True:
            connection = listener.accept()[0]
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>dry</p>")
            connection.close()

    threading.Thread(target=answer, daemon=True).start()
    settings = types.ModuleType(DRY_SETTINGS)
    settings.SPIDER_MODULES = [DRY_SPIDERS]
    settings.ROBOTSTXT_OBEY = True
    spiders = types.ModuleType(DRY_SPIDERS)
    url = "http://127.0.0.1:%d/" % listener.getsockname()[1]
    import scrapy

    spiders.DrySpider = type(
        "DrySpider",
        (scrapy.Spider,),
        {
            "name": "dry",
            "start_urls": [url],
            "parse": lambda self, response: {"text": response.css("p::text").get()},
            "__module__": DRY_SPIDERS,
        },
    )
    sys.modules[DRY_SETTINGS], sys.modules[DRY_SPIDERS] = settings, spiders
    os.environ["SCRAPY_SETTINGS_MODULE"] = DRY_SETTINGS
    feeds = json.dumps({pathlib.Path(directory, "items.jl").as_uri(): {"format": "jsonlines"}})
    sys.argv = ["scrapy", "crawl", "dry", "-s", "LOG_FILE=%s/log" % directory, "-s", "FEEDS=" + feeds, "-a", "_job=dry"]
    from scrapy.cmdline import execute

    try:
        execute()
    except SystemExit as end:
        if end.code:
            raise RuntimeError("the dry crawl ended with status %s" % end.code) from None


if __name__ == "__main__":
    main()

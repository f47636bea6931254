"""Keeps Python and Scrapy loaded, so that a spider starts with a fork instead of half a second of imports.

    python warm.py MODULES_FILE

Reads requests from stdin and reports on stdout, one JSON object per line (src/engine/nodes/local/warm/warm-pool.ts):

    {"event": "ready", "watched": {path: mtime in ns}}      or {"event": "failed", "reason": text}, then exit
    {"do": "start", "directory": run directory, "launch": as in launch.json}      -> the events of supervisor.py's Run
                        with "launch": {"id": ...} alone, the rest is in launch.json there: what spiders kept apart from
                        each other are started with never passes through this process, whose memory they all inherit
    {"do": "list", "directory": empty folder, "launch": ...}      -> the same; the spiders are in spiders.json
    {"do": "park", "count": N}      keeps pairs of processes forked for the next N starts (parking.py)
    {"event": "gone", "id": id of the launch}      the supervisor of that run has ended, whatever it reported

    this process -- fork --> supervisor (claims, waits, reports) -- fork, new session --> the spider

It ends when stdin closes; supervisors and spiders continue, parked ones end. It imports what Scrapy was observed to
import (in a dry crawl in a fork, stored in MODULES_FILE), but never a Twisted reactor: the project chooses it, and it
belongs to one process. It never imports anything from a project. `become_spider` removes nearly every trace of the
fork; one remains: spiders of the same parent share their random hash seed.
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

# These files are part of the installed app, which must stay as it was installed. Spiders' modules are cached as usual.
sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
import apart  # noqa: E402
import crawl  # noqa: E402
import hidden_values  # noqa: E402,F401
import parking  # noqa: E402
import supervisor  # noqa: E402

sys.dont_write_bytecode = before

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
    line, handover, parked = serve(control, events, modules_file + ".dry")
    # From here on we are a supervisor.
    supervise(line, handover, parked, control, events, fresh)


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


def serve(control, events, directory):
    """Serves requests forever; returns only in a forked supervisor: the line of its request and None, or, in a parked
    one, None and the descriptor from which it will read that line. `directory`: for a dry crawl."""
    import select

    supervisors = {}
    parked = parking.Parked()
    received = b""
    while True:
        sources = [control] if parked.scout is None else [control, parked.scout]
        readable = select.select(sources, [], [], REAP_SECONDS if supervisors else None)[0]
        if parked.scout in readable:
            parked.end_scouting()
        if control in readable:
            chunk = os.read(control, 65536)
            if not chunk:
                os._exit(0)
            *lines, received = (received + chunk).split(b"\n")
            for line in lines:
                request = json.loads(line)
                if request["do"] == "park":
                    parked.wanted = request["count"]
                    continue
                pid = parked.hand_over(line) if request["do"] == "start" else None
                if pid is None:
                    pid = os.fork()
                    if pid == 0:
                        os.setsid()
                        return line, None, parked
                supervisors[pid] = request["launch"]["id"]
            if len(received) > LARGEST_REQUEST:
                os._exit(1)
        reap(supervisors, parked, events)
        for pid in parked.end_surplus():
            supervisors[pid] = None
        if parked.needs_scout():
            try:
                parked.scout = dry_crawl_in_fork([control, events], directory, parking.watch_pages)[1]
            except OSError:
                parked.wanted = 0  # No process left for what is only faster.
        while parked.is_short():
            handover = parked.fork()
            if handover is not None:
                os.setsid()
                return None, handover, parked


def reap(supervisors, parked, events):
    while True:
        try:
            pid = os.waitpid(-1, os.WNOHANG)[0]
        except ChildProcessError:
            return
        if pid == 0:
            return
        parked.forget(pid)
        launch_id = supervisors.pop(pid, None)
        if launch_id is not None:
            tell(events, event="gone", id=launch_id)


def supervise(line, handover, parked, control, events, fresh):
    """What a supervisor does. The spider's process is forked first: it prepares itself while the run is claimed."""
    parked.close()
    os.close(control)
    supervisor.adopt_orphans()
    if handover is not None:
        show_as([sys.executable, parking.__file__, *sys.argv[1:2]])
    closed, pages = ([events], []) if handover is None else ([events, handover], parked.pages)
    try:
        spider = Spider(fresh, closed, pages)
    except OSError:
        spider = None  # Tried again once there is a run that can fail.
    if handover is not None:
        line = wait_for_request(handover, spider)
    request = json.loads(line)
    if "project" not in request["launch"]:
        request, line = read_request(request)
    if spider is not None:
        spider.ask(line)
    run = supervisor.Run(request["directory"], events)
    if not run.take(request["launch"]):
        os._exit(supervisor.ALREADY_STARTED)
    if spider is None or not spider.is_prepared():
        # It has ended, and ran nothing.
        if spider is not None:
            spider.close()
        try:
            spider = Spider(fresh, [events, run.output], [])
        except OSError as error:
            run.fail(error)
            os._exit(0)
        spider.ask(line)
        spider.is_prepared()
    show_as([sys.executable, supervisor.__file__, run.directory])
    os.close(spider.alive)
    run.stand_over(spider.pid, go=spider.orders)
    os._exit(0)


def read_request(request):
    with open(os.path.join(request["directory"], "launch.json"), encoding="utf-8") as file:
        request["launch"] = dict(json.load(file), **request["launch"])
    return request, json.dumps(request).encode()


def wait_for_request(handover, spider):
    """Until the parent hands over a run. If the parent has ended, or the spider's process, this one ends, too."""
    import select
    import signal

    if spider is None:
        os._exit(1)
    line = b""
    if handover in select.select([handover, spider.alive], [], [])[0]:
        with os.fdopen(handover, "rb") as file:
            line = file.readline()
    if not line.endswith(b"\n"):
        os.kill(spider.pid, signal.SIGKILL)
        os.waitpid(spider.pid, 0)
        os._exit(0)
    return line[:-1]


class Spider:
    """A forked process that waits for the spider to run. It ends if its supervisor does."""

    def __init__(self, fresh, closed, pages):
        (asked, self.orders), (self.alive, living) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                os.write(living, b"!")
                for descriptor in (*closed, self.orders, self.alive):
                    os.close(descriptor)
                wait_for_orders(asked, living, fresh, pages)
            except BaseException:
                # Into the run's output, once it has one.
                sys.excepthook(*sys.exc_info())
                sys.stderr.flush()
            finally:
                os._exit(1)
        os.close(asked)
        os.close(living)
        # The engine may signal the process group as soon as it is reported, so it must exist by then.
        os.read(self.alive, 1)

    def ask(self, line):
        """Tells it what it will run."""
        try:
            parking.write_all(self.orders, line + b"\n")
        except OSError:
            pass  # It has ended.

    def is_prepared(self):
        """Waits until it only needs to be let go. False: it has ended."""
        return os.read(self.alive, 1) != b""

    def close(self):
        os.close(self.orders)
        os.close(self.alive)


def wait_for_orders(asked, living, fresh, pages):
    """Becomes a spider as soon as it is known which one, and runs it once its supervisor lets it."""
    import signal

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # Until there is a run, a signal ends this process, and says nothing.
    for one in signals:
        signal.signal(one, signal.SIG_DFL)
    parking.copy_pages(pages)
    with os.fdopen(asked, "rb") as orders:
        line = orders.readline()
        # From here on, a signal is for the spider.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        if not line:
            os._exit(0)
        request = json.loads(line)
        directory, launch = request["directory"], request["launch"]
        become_spider(directory, launch, fresh)
        os.write(living, b"!")
        os.close(living)
        let_go = orders.readline()
        if not let_go:
            os._exit(1)  # Our supervisor was killed, or the disk is full: no engine could find us.
    begin_here(directory, launch, fresh)
    is_listing = request["do"] == "list"
    if is_listing:
        answer = os.open(os.path.join(directory, "spiders.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    if launch.get("isolation") is not None:
        kept = (answer,) if is_listing else ()
        apart.enter(launch["isolation"], int(let_go), launch["workingDirectory"], kept)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if is_listing:
        finish(crawl.list_spiders, launch["source"], answer)
    finish(crawl.run, launch)


def become_spider(directory, launch, fresh):
    """Makes a forked child look like a Python that has just been started for this run; `begin_here` does the rest."""
    import random
    import signal
    import threading
    import time
    import types

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(fresh["environ"])
    os.environ.update(launch["environment"])
    time.tzset()
    if hasattr(threading.main_thread(), "_set_native_id"):
        threading.main_thread()._set_native_id()
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    command = [launch["python"], crawl.__file__, directory, launch["project"], launch["spider"]]
    show_as(command)
    sys.orig_argv = command
    sys.path[:] = fresh["path"]
    crawl.forget_our_modules()
    main_module = types.ModuleType("__main__")
    vars(main_module).update(vars(crawl), __name__="__main__", __package__=None, __spec__=None, __cached__=None)
    vars(main_module).setdefault("__annotations__", {})
    KEPT.append(sys.modules["__main__"])
    sys.modules["__main__"] = main_module


def begin_here(directory, launch, fresh):
    """What exists only once the run is claimed: its files and folders, and its time."""
    import logging
    import time

    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(os.path.join(directory, "output.txt"), os.O_RDWR | os.O_APPEND)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)
    os.chdir(launch["workingDirectory"])
    sys.stdin = sys.__stdin__ = open_standard(0, fresh["streams"][0])
    sys.stdout = sys.__stdout__ = open_standard(1, fresh["streams"][1])
    sys.stderr = sys.__stderr__ = open_standard(2, fresh["streams"][2])
    logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()
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
            return content["imported"], content["excluded"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None, []


def write_modules(path, watched, names, excluded):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = "%s.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as file:
        # Earlier versions wrote "modules", with those of an extension that runs no longer have (crawl.take_away).
        json.dump({"watched": watched, "imported": names, "excluded": excluded}, file)
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
    """Returns the names of the modules that a dry crawl imported, in order."""
    pid, reading = dry_crawl_in_fork([control, events], directory, lambda: imported_modules)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(pid, 0)
    names = json.loads(text) if text else "it was killed"
    if isinstance(names, str):
        raise RuntimeError("a crawl of one page did not work (%s)" % names)
    return names


def imported_modules():
    ours = {"__main__", "__mp_main__", REACTOR, DRY_SETTINGS, DRY_SPIDERS}
    return [
        name
        for name, module in list(sys.modules.items())
        if name not in ours and getattr(module, "__spec__", None) is not None
    ]


def dry_crawl_in_fork(closed, directory, watch):
    """Runs a crawl in a fork. Returns its pid and a descriptor with its report as JSON: what the function returned
    that `watch` had returned before the crawl, or a text if the crawl failed."""
    import shutil

    reading, writing = os.pipe()
    pid = os.fork()
    if pid > 0:
        os.close(writing)
        return pid, reading
    try:
        for descriptor in (*closed, reading):
            os.close(descriptor)
        os.setsid()
        end_with_parent()
        # A process that was killed left its own.
        shutil.rmtree(directory, ignore_errors=True)
        # One by one: `mode` holds only for the last.
        os.makedirs(os.path.dirname(directory), mode=0o700, exist_ok=True)
        os.mkdir(directory, 0o700)
        os.chdir(directory)
        report = watch()
        dry_crawl(directory)
        found = report()
    except BaseException as error:
        found = "%s: %s" % (type(error).__name__, error)
    shutil.rmtree(directory, ignore_errors=True)
    with os.fdopen(writing, "w") as file:
        json.dump(found, file)
    os._exit(0)


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

    crawl.take_away()
    try:
        execute()
    except SystemExit as end:
        if end.code:
            raise RuntimeError("the dry crawl ended with status %s" % end.code) from None


if __name__ == "__main__":
    main()

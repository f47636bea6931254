"""Keeps Python and Scrapy ready, so that a spider starts by a fork instead of by half a second of imports.

    python warm.py MODULES_FILE

Reads requests from stdin and tells what happens on stdout, one JSON object a line (src/engine/launcher/warm/warm-pool.ts):

    {"event": "ready", "watched": {path: mtime in ns}}      or {"event": "failed", "reason": words}, and the end
    {"do": "start", "directory": run directory, "launch": as in launch.json}      -> the events of supervisor.py's Run
    {"do": "list", "directory": empty folder, "launch": ...}      -> the same; the spiders are in spiders.json
    {"event": "gone", "id": id of the launch}      the supervisor of that run has ended, whatever it told

    this process -- fork --> supervisor (claims, waits, tells) -- fork, new session --> the spider

It ends when stdin does; supervisors and spiders go on. It imports what Scrapy is seen to import (a dry crawl in a fork,
remembered in MODULES_FILE), but never a Twisted reactor: that is the project's to choose, and belongs to one process.
It never imports anything of a project. A spider can hardly tell that it was forked: `become_spider` is all that is
between the two, and what remains is that random hash seeds are shared by the spiders of one parent.
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
    # How the interpreter was found, before any import had its way with it: what each spider begins with.
    fresh = {"environ": dict(os.environ), "path": list(sys.path), "streams": (sys.stdin, sys.stdout, sys.stderr)}
    watched = read_watched()
    try:
        names, excluded = read_modules(modules_file, watched)
        if names is None:
            names = learn(events, control, modules_file + ".dry")
        culprits = import_all(name for name in names if name not in excluded)
        if culprits:
            # They were left half imported: a new process leaves them out.
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

    # Whoever signals the spider from its first moment on must reach it, not a handler of ours.
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
            os._exit(1)  # Our supervisor was killed, or the disk is full: nobody could find us.
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
    # Its group is signalled from the moment we tell of it: that must be there.
    os.read(has_group, 1)
    os.close(has_group)
    run.stand_over(pid, go=go)
    os._exit(0)


def take_channels():
    """Moves the engine's pipes out of the way of the spiders: no child may have them for its stdin and stdout."""
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
    """In the C locale a Python gives its children LC_CTYPE=C.UTF-8, and is itself in UTF-8 mode, which they then are not
    (PEP 538, 540). A spider that is started cold is such a child: so must we be."""
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
    """Answers requests for ever; returns in each forked supervisor, with the request it was forked for."""
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
    """Makes a forked child what a Python that was just started would be."""
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
    """Does the work and ends the process as Python would, but for what the heap shared with the parent holds: to take
    that apart would copy all of it, and takes as long as the whole of a small crawl."""
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

        # What C libraries have to do at the end, and their buffers; no thread of Python's goes on meanwhile.
        ctypes.PyDLL(None).exit(code & 0xFF)
    finally:
        os._exit(code & 0xFF)


def finalize():
    """What the end of an interpreter does to objects that are left over: `__del__`, then what nobody closed is written."""
    ranks = {}
    left_over = [[], [], [], []]
    standard = {id(layer) for stream in (sys.stdin, sys.stdout, sys.stderr) for layer in layers_of(stream)}
    task = getattr(sys.modules.get("asyncio"), "Task", ())
    for thing in gc.get_objects():  # Those of the parent are frozen and not among them.
        kind = type(thing)
        if kind not in ranks:
            ranks[kind] = rank_of(kind)
        if issubclass(kind, task) and not thing.done():
            continue  # Its loop holds it to the end of Python, so it never complains that it was pending.
        if ranks[kind] is not None and id(thing) not in standard:
            left_over[ranks[kind]].append(thing)
    for things in left_over:
        for thing in things:
            try:
                thing.__del__()
            except BaseException:
                complain(thing)


def layers_of(stream):
    """A text stream, its buffer and the file under that, which is the buffer itself where nothing is buffered."""
    buffer = getattr(stream, "buffer", None)
    return stream, buffer, getattr(buffer, "raw", None)


def rank_of(kind):
    """Objects may write to files, files with an encoding to those without, and packed ones to plain ones."""
    import io

    if not hasattr(kind, "__del__"):
        return None
    if not issubclass(kind, io.IOBase):
        return 0
    if issubclass(kind, io.TextIOBase):
        return 1
    return 3 if kind.__module__ == "_io" else 2


def complain(thing):
    """What Python says where nobody is left to be told."""
    import traceback

    sys.stderr.write("Exception ignored in: %r\n%s" % (thing, traceback.format_exc()))


def open_standard(descriptor, like):
    """A stream as Python opens it at its start, for the file that the descriptor is now."""
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
    """What ps shows of us, written over our own arguments, as far as there is room."""
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
    """What changes when packages come, go or change; as it is before anything of it was imported."""
    paths = [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg"), *sys.path]
    watched = {}
    for path in paths:
        try:
            watched[os.path.abspath(path)] = str(os.stat(path).st_mtime_ns)
        except OSError:
            pass
    return watched


def read_modules(path, watched):
    """What was learned of these very packages; None where that is to be learned."""
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
    """Lets nobody import a reactor here, and remembers whose modules tried."""

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
    """Returns the modules that import a reactor, if there are any: then this process is spoiled."""
    guard = ReactorGuard()
    sys.meta_path.insert(0, guard)
    try:
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:
                # The dry crawl could, we cannot: the spiders that need it will import it themselves.
                pass
    finally:
        sys.meta_path.remove(guard)
    if REACTOR in sys.modules:
        raise RuntimeError("a Twisted reactor was imported")
    return guard.culprits


def fill_caches():
    """What each spider would find out for itself, for its log's first lines; nothing of it is a project's."""
    import importlib.metadata
    import platform

    platform.platform()
    importlib.metadata.entry_points(group="scrapy.commands")
    try:
        from scrapy.utils.versions import get_versions

        get_versions()
    except Exception:
        pass  # Another Scrapy: its spiders take some milliseconds longer.


def refuse_threads():
    import threading

    native = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 1
    if threading.active_count() > 1 or native > 1:
        raise RuntimeError("a package of this environment starts threads when it is imported")


def learn(events, control, directory):
    """The names of what a crawl imports, in the order of importing, by one in a fork."""
    import shutil

    # One that was killed while it learned left its own.
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
    """Runs a spider that reads one page from ourselves and yields one item, the way crawl.py would."""
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

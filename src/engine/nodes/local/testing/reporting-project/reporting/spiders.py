"""A spider that tells everything by which it could notice how its process was started."""

import asyncio
import atexit
import decimal
import gc
import gzip
import importlib.metadata
import importlib.resources
import json
import locale
import logging
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from urllib.parse import quote

# Before any import of our own: what was there already.
MODULES_AT_IMPORT = sorted(sys.modules)

import scrapy  # noqa: E402


def describe(handler):
    return getattr(handler, "__qualname__", None) or str(handler)


def describe_stream(stream):
    buffer = stream.buffer
    raw = getattr(buffer, "raw", buffer)
    return {
        "class": type(stream).__name__,
        "buffer": type(buffer).__name__,
        "raw": type(raw).__name__,
        "repr": repr(stream),
        "raw repr": repr(raw),
        "encoding": stream.encoding,
        "errors": stream.errors,
        "newlines": stream.newlines,
        "line buffering": stream.line_buffering,
        "write through": stream.write_through,
        "descriptor": stream.fileno(),
        "closes descriptor": raw.closefd,
        "readable": stream.readable(),
        "writable": stream.writable(),
    }


def describe_descriptors():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue  # The listing's own.
        kind = target.partition(":")[0] if target.startswith(("socket:", "pipe:", "anon_inode:")) else target
        found.append((int(name) if int(name) < 3 else "more", kind, os.get_inheritable(int(name))))
    return sorted(map(str, found))


def describe_logging():
    loggers = {"": logging.root, **logging.root.manager.loggerDict}
    return {
        name: [logger.level, logger.propagate, logger.disabled, [type(one).__name__ for one in logger.handlers]]
        for name, logger in loggers.items()
        if isinstance(logger, logging.Logger)
    }


def describe_import_system():
    import oldspace.inside
    import oldspace.outside
    import pkg_resources
    import sharedspace.inside
    import sharedspace.outside

    return {
        "old namespace": [oldspace.inside.WORDS, oldspace.outside.WORDS],
        "shared namespace": [sharedspace.inside.WORDS, sharedspace.outside.WORDS],
        "importlib.resources": importlib.resources.files("reporting").joinpath("data.txt").read_text(),
        "pkg_resources": pkg_resources.resource_string("reporting", "data.txt").decode(),
        "importlib.metadata": importlib.metadata.version("reporting"),
        "entry points": [one.value for one in importlib.metadata.entry_points(group="scrapy")],
        "distribution": str(pkg_resources.get_distribution("reporting")),
        "path hooks": [describe(hook) for hook in sys.path_hooks],
        "meta path": [describe(finder) for finder in sys.meta_path],
    }


class LastWords:
    def __init__(self, path):
        self.path = path
        self.open = open

    def __del__(self):
        with self.open(self.path, "w") as file:
            file.write("deleted")


class ReportSpider(scrapy.Spider):
    name = "report"
    start_urls = []

    def __init__(self, report, **kwargs):
        super().__init__(**kwargs)
        self.report = report
        # Also shows whether exit handlers run, and whether unclosed files are written.
        atexit.register(lambda: open(report + ".atexit", "w").close())
        self.unclosed = open(report + ".unclosed", "w")
        self.unclosed.write("written at exit")
        self.packed = gzip.open(report + ".gz", "wt")
        self.packed.write("packed at exit")
        self.last = LastWords(report + ".deleted")

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.tell, scrapy.signals.spider_opened)
        return spider

    def tell(self):
        main = sys.modules["__main__"]
        status = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status"))
        facts = {
            "arguments": sys.argv,
            "original arguments": sys.orig_argv,
            "command line": open("/proc/self/cmdline").read().rstrip("\0").split("\0"),
            "process name": status["Name"],
            "environment": dict(os.environ),
            "working directory": os.getcwd(),
            "umask": status["Umask"],
            "descriptors": describe_descriptors(),
            "input is": stat.S_ISCHR(os.fstat(0).st_mode),
            "signal handlers": {one.name: describe(signal.getsignal(one)) for one in signal.valid_signals() if isinstance(one, signal.Signals)},
            "ignored signals": status["SigIgn"],
            "blocked signals": status["SigBlk"],
            "leads its session and group": os.getpid() == os.getsid(0) == os.getpgid(0),
            "dies with its parent": status.get("NoNewPrivs"),
            "logging": describe_logging(),
            "log records count from now": abs(time.time() - logging._startTime) < 30,
            # Each is there after some import; which came first is not.
            "warning filters": sorted(map(str, warnings.filters)),
            "warning options": sys.warnoptions,
            "path": sys.path,
            "main": {name: str(getattr(main, name, None)) for name in ("__name__", "__file__", "__spec__", "__package__", "__cached__", "__doc__")},
            "names in main": sorted(set(vars(main)) - {"__warningregistry__"}),
            "standard streams": [describe_stream(one) for one in (sys.stdin, sys.stdout, sys.stderr)],
            "streams are the original ones": [sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__],
            "threads": sorted(type(one).__name__ for one in threading.enumerate()),
            "main thread": [
                threading.main_thread() is threading.current_thread(),
                threading.main_thread().native_id == os.getpid(),
            ],
            "time zone": [time.tzname, time.timezone, time.strftime("%H", time.localtime(0))],
            "exit handlers": atexit._ncallbacks(),
            "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
            "priority": os.getpriority(os.PRIO_PROCESS, 0),
            "collector": [gc.isenabled(), gc.get_threshold(), gc.get_debug()],
            "interpreter": [sys.executable, sys.prefix, str(sys.flags), sys.getrecursionlimit(), sys.getswitchinterval(), sys.dont_write_bytecode],
            "encodings": [sys.getfilesystemencoding(), sys.getdefaultencoding(), locale.getlocale(), locale.getpreferredencoding()],
            "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile()],
            "decimal": str(decimal.getcontext()),
            "timers": [signal.getitimer(one) for one in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
            "reactor": type(__import__("twisted.internet.reactor", fromlist=["reactor"])).__name__
            + " " + type(sys.modules["twisted.internet.reactor"]).__name__,
            "scrapy settings": {name: str(self.settings[name]) for name in ("BOT_NAME", "LOG_FILE", "FEEDS", "TWISTED_REACTOR")},
            "modules of projects": sorted(name for name in sys.modules if name.startswith(("reporting", "oldspace", "sharedspace"))),
            "import system": describe_import_system(),
        }
        facts["random"] = None
        report = {"facts": facts, "modules at import": MODULES_AT_IMPORT, "random": random.random(), "hash": hash("hash")}
        with open(self.report, "w") as file:
            json.dump(report, file, default=str)
        self.logger.warning("told")
        warnings.warn("a warning goes the way of warnings")
        print("printed ü")
        print("complained ü", file=sys.stderr)
        raise_in_thread = threading.Thread(target=lambda: None, name="mine")
        raise_in_thread.start()
        raise_in_thread.join()
        if self.settings["TWISTED_REACTOR"] and "asyncio" in self.settings["TWISTED_REACTOR"]:
            # What is still waiting at the end says nothing of it.
            self.waiting = asyncio.get_event_loop().create_task(asyncio.sleep(3600))


class OptionSpider(ReportSpider):
    name = "-o"


class FamilySpider(scrapy.Spider):
    """Leaves a process behind that is in no group of ours, and one that is."""

    name = "family"
    start_urls = []

    def __init__(self, report, **kwargs):
        super().__init__(**kwargs)
        ways = [{}, {"start_new_session": True}]
        children = [subprocess.Popen(["sleep", "600"], **way) for way in ways]
        # A daemon's way: its parent is gone at once.
        shell = subprocess.run(["setsid", "sh", "-c", "sleep 600 >/dev/null & echo $!"], stdout=subprocess.PIPE, check=True)
        with open(report, "w") as file:
            json.dump([one.pid for one in children] + [int(shell.stdout)], file)


class SecretSpider(scrapy.Spider):
    name = "secret"
    start_urls = []

    def __init__(self, report, token, **kwargs):
        super().__init__(**kwargs)
        with open("/proc/self/cmdline") as command, open("/proc/self/environ") as environment:
            seen = [command.read(), environment.read()]
        with open("/proc/%d/cmdline" % os.getppid()) as command:
            seen.append(command.read())
        with open(report, "w") as file:
            json.dump({"token": token, "seen": seen}, file)
        self.logger.info("The token is %s.", token)
        print("printed " + token)
        raise RuntimeError("https://example.com/?token=%s" % quote(token))

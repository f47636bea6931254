"""Spiders of the differential test. They report through files, so that both servers get the same requests."""

import asyncio
import json
import os
import signal
import sys
from importlib import resources
from pathlib import Path

import scrapy
from scrapy.settings import BaseSettings

REPORTS = Path(os.environ["DIFFERENTIAL_REPORTS"])
PROJECT_PRIORITY = 20


def tell(name, text):
    """Writes the file atomically: the test reads it as soon as the name exists."""
    path = REPORTS / name
    whole = path.with_name(path.name + ".part")
    whole.write_text(text)
    whole.replace(path)


class Report(scrapy.Spider):
    name = "report"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.arguments = kwargs

    async def start(self):
        with open(REPORTS / "order.txt", "a") as order:
            order.write(f"{self._job}\n")
        self.logger.info("Reporting: äöü ☃")
        settings = self.settings
        shown = {
            name: [self.shown(settings[name]), settings.getpriority(name)]
            for name in sorted(settings)
            if settings.getpriority(name) >= PROJECT_PRIORITY
        }
        report = {
            "argv": sys.argv[1:],
            "environment": dict(os.environ),
            "cwd": os.getcwd(),
            "arguments": {name: [type(value).__name__, value] for name, value in self.arguments.items()},
            "argumentOrder": list(self.arguments),
            "settings": shown,
            "encoding": [sys.stdout.encoding, sys.getfilesystemencoding(), sys.getdefaultencoding()],
            "flags": str(sys.flags),
            "executable": sys.executable,
            "umask": self.umask(),
            "isMain": sys.modules["__main__"].__name__,
            "data": resources.files("reporter").joinpath("data.txt").read_text(),
            "file": __file__,
            "interrupt": self.handler_of(signal.SIGINT),
            "terminate": self.handler_of(signal.SIGTERM),
            "hangup": self.handler_of(signal.SIGHUP),
            "pipe": self.handler_of(signal.SIGPIPE),
            "stdin": sys.stdin.isatty(),
            "reactor": type(__import__("twisted.internet.reactor").internet.reactor).__name__,
        }
        tell(f"{self._job}.json", json.dumps(report))
        yield {"job": self._job, "text": "äöü ☃", "nothing": None, "number": 1.5}

    @staticmethod
    def handler_of(number):
        handler = signal.getsignal(number)
        return str(getattr(handler, "__name__", handler))

    @staticmethod
    def shown(value):
        return repr(value.copy_to_dict() if isinstance(value, BaseSettings) else value)

    @staticmethod
    def umask():
        mask = os.umask(0)
        os.umask(mask)
        return mask


class Hold(scrapy.Spider):
    name = "hold"

    async def start(self):
        tell(f"{self._job}.held", "")
        while not (REPORTS / f"{self._job}.release").exists():
            if self.crawler.engine is not None and not self.crawler.crawling:
                break
            await asyncio.sleep(0.05)
        yield {"job": self._job}


class Deaf(scrapy.Spider):
    """Ends only on its release or on a signal that cannot be caught."""

    name = "deaf"

    async def start(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.note)
        tell(f"{self._job}.held", "")
        while not (REPORTS / f"{self._job}.release").exists():
            await asyncio.sleep(0.05)
        yield {"job": self._job}

    def note(self, number, _frame):
        tell(f"{self._job}.{signal.Signals(number).name}", "")

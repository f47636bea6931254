import json
import os

import scrapy

from . import attempts
from .wanted import WANTED

def try_all(wanted):
    answers = {label: attempts.attempt(name, arguments) for label, name, arguments in wanted}
    try:
        pids = attempts.ancestors()
    except OSError:
        pids = []
    for name in ("read_environment", "read_through", "signal_process", "trace"):
        found = [attempts.attempt(name, [pid]) for pid in pids]
        answers["its supervisor: " + name] = True if True in found else found
    return answers


class ProbeSpider(scrapy.Spider):
    name = "probe"
    start_urls = ["data:,"]

    def parse(self, response):
        # So that there is a file of items, too.
        yield {"about": "to try"}
        yield response.follow("data:,now", self.attack)

    def attack(self, response):
        self.logger.info("ANSWERS %s", json.dumps(try_all(json.loads(self.targets))))


class HonestSpider(scrapy.Spider):
    name = "honest"
    start_urls = ["data:,"]

    def parse(self, response):
        with open("kept.txt", "a") as file:
            file.write("kept\n")
        yield {"honest": True, "uid": os.getuid(), "groups": os.getgroups()}


class SleepingSpider(scrapy.Spider):
    name = "sleeping"
    start_urls = ["data:,"]
    custom_settings = {"CLOSESPIDER_TIMEOUT": 600}

    def parse(self, response):
        import subprocess

        # Leaves the group and the session, as a browser may.
        self.child = subprocess.Popen(["sleep", self.seconds], start_new_session=True)
        self.logger.info("SLEEPING")
        from twisted.internet import reactor
        from twisted.internet.defer import Deferred

        self.waiting = Deferred()
        reactor.callLater(600, self.waiting.callback, None)
        return self.waiting


# Code of a project also runs when its spiders are listed: what it got then becomes the name of a spider.
for number, path in enumerate(WANTED):
    if attempts.attempt("read", [path]) is True:
        globals()["Stolen%d" % number] = type("Stolen", (scrapy.Spider,), {"name": "stolen-" + os.path.basename(path)})

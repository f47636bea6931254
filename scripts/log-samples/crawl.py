# -*- coding: utf-8 -*-
"""crawl.py SCENARIO LOGFILE PORT: one run, written for Scrapy 1.0 on Python 2.7 up to today's."""
from __future__ import unicode_literals

import json
import logging
import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import CloseSpider, DropItem

SCENARIO, LOGFILE, PORT = sys.argv[1], sys.argv[2], sys.argv[3]
SITE = "http://127.0.0.1:%s" % PORT
# Nothing listens on port 9 (discard).
REFUSED = "http://127.0.0.1:9/"


class Pipeline(object):
    def process_item(self, item, spider=None):
        if item["number"] == 2:
            raise DropItem("No price in %r" % item["title"])
        return item


def clean(value):
    try:
        return int(value)
    except ValueError:
        raise KeyError("price of %s" % value)


class Shop(scrapy.Spider):
    name = "shop"
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        for link in response.css("a::attr(href)").extract():
            yield scrapy.Request(response.urljoin(link), self.parse)
        number = int(response.url.rsplit("/", 1)[1])
        yield {"number": number, "title": response.css("title::text").extract_first(), "price": "%d €" % number}


class Good(Shop):
    start_urls = [SITE + "/page/1"]


class Everything(Shop):
    """Retries, refusals, robots.txt, offsite, duplicates, drops, redirects, errors of callbacks and errbacks."""

    start_urls = [SITE + "/page/1"]
    handle_httpstatus_list = [410]

    def parse(self, response):
        if response.url.endswith("/1"):
            for path in ["/moved", "/busy", "/private", "/nothing", "/page/3", "/page/3", "/slow"]:
                yield scrapy.Request(SITE + path, self.parse, errback=self.fail if path == "/nothing" else None)
            yield scrapy.Request(REFUSED, self.parse)
            yield scrapy.Request("http://elsewhere.example/a", self.parse)
            yield scrapy.Request(SITE + "/page/5?token=a8f3", self.broken)
            yield scrapy.Request(SITE + "/page/6", self.chained)
            self.logger.warning("Prices in Währung are guessed: %s", "¥")
            self.logger.error("Login failed for user %s", 4711)
        for each in super(Everything, self).parse(response):
            yield each

    def broken(self, response):
        raise ValueError("could not convert %r" % response.url)

    def chained(self, response):
        yield {"number": clean("zwölf")}

    def fail(self, failure):
        raise RuntimeError("errback of %s" % failure.type.__name__)


class Closing(Shop):
    start_urls = [SITE + "/page/1"]

    def parse(self, response):
        for each in super(Closing, self).parse(response):
            yield each
        if response.url.endswith("/3"):
            raise CloseSpider("prices_unchanged")


class Endless(scrapy.Spider):
    name = "endless"
    start_urls = [SITE + "/trickle?n=0"]

    def parse(self, response):
        number = int(response.url.rsplit("=", 1)[1])
        yield {"number": number}
        yield scrapy.Request(SITE + "/trickle?n=%d" % (number + 1), self.parse)


class JsonFormatter(logging.Formatter):
    """The keys of python-json-logger's documentation, or those of structlog."""

    def __init__(self, keys):
        logging.Formatter.__init__(self)
        self.keys = keys

    def format(self, record):
        time, level, logger, message, trouble = self.keys
        names = {time: self.formatTime(record), level: record.levelname, logger: record.name}
        if level == "level":
            names[level] = record.levelname.lower()
            names[time] = self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + ".%06dZ" % (record.msecs * 1000)
        names[message] = record.getMessage()
        if record.exc_info:
            names[trouble] = self.formatException(record.exc_info)
        return json.dumps(names, ensure_ascii=level == "levelname")


STDLIB = ("asctime", "levelname", "name", "message", "exc_info")
STRUCTLOG = ("timestamp", "level", "logger", "event", "exception")

SETTINGS = {
    "LOG_FILE": LOGFILE,
    "ROBOTSTXT_OBEY": True,
    "RETRY_TIMES": 1,
    "DOWNLOAD_TIMEOUT": 1,
    "CONCURRENT_REQUESTS": 2,
    "LOGSTATS_INTERVAL": 1,
    "TELNETCONSOLE_PORT": [16023, 16073],
    "ITEM_PIPELINES": {"crawl.Pipeline": 300},
}
FORMATS = {
    "dashes": ("%(asctime)s - %(name)s - %(levelname)s - %(message)s", "%d/%m/%Y %H:%M:%S"),
    "pipes": ("%(levelname)-8s| %(asctime)s.%(msecs)03d | %(process)d | %(name)-26s » %(message)s", "%d.%m.%Y %H:%M:%S"),
    "zone": ("%(asctime)s [%(name)s] %(levelname)s: %(message)s", "%Y-%m-%d %H:%M:%S%z"),
    "colour": ("\x1b[36m%(asctime)s\x1b[0m \x1b[1m%(levelname)s\x1b[0m %(name)s:%(lineno)d %(message)s", None),
    "bare": ("%(levelname)s %(message)s", None),
}


def main():
    settings = dict(SETTINGS)
    name, _, option = SCENARIO.partition("-")
    spider = {"everything": Everything, "closing": Closing, "killed": Endless, "shutdown": Endless}.get(name, Good)
    if option == "info":
        settings["LOG_LEVEL"] = "INFO"
    if name == "limit":
        settings["CLOSESPIDER_ITEMCOUNT"] = 3
        settings["DOWNLOAD_DELAY"] = 0.4
    if name == "format":
        settings["LOG_FORMAT"], settings["LOG_DATEFORMAT"] = FORMATS[option]
        spider = Everything if option == "pipes" else Good
    if name == "json":
        settings["LOG_ENABLED"] = False
        del settings["LOG_FILE"]
        handler = logging.FileHandler(LOGFILE, encoding="utf-8")
        handler.setFormatter(JsonFormatter(STRUCTLOG if option == "structlog" else STDLIB))
        logging.getLogger().addHandler(handler)
        logging.getLogger().setLevel(logging.DEBUG)
        spider = Everything if option == "stdlib" else Good
    process = CrawlerProcess(settings)
    process.crawl(spider)
    if name == "broken":
        import no_such_library  # noqa: F401
    process.start()


if __name__ == "__main__":
    # As `crawl.Pipeline`, and not twice.
    sys.modules["crawl"] = sys.modules["__main__"]
    main()

"""
.venv/bin/python scripts/log-samples/uncounted.py: makes the logs in src/engine/runs/log-parser/samples/uncounted again:
runs of five items and one page whose closing stats are hard to read or do not count them. Lists of middlewares, which
say nothing here, are left out.
"""
import os
import re
import subprocess
import sys
import tempfile

import scrapy
from scrapy.crawler import CrawlerProcess

TARGET = os.path.join(os.path.dirname(__file__), "..", "..", "src", "engine", "runs", "log-parser", "samples", "uncounted")
SETTINGS = {
    "keys": {},
    "objects": {},
    "values": {},
    "no-dump": {"STATS_DUMP": False},
    "dummy": {"STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector"},
    "no-corestats": {"EXTENSIONS": {"scrapy.extensions.corestats.CoreStats": None}},
    "no-logcount": {"EXTENSIONS": {"scrapy.extensions.logcount.LogCount": None}},
}


class Odd:
    """What a project may keep, and no parser of Python can read."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


STATS = {
    "keys": {200: 3, None: 1, ("a", 1): {"deep": "c" * 90, "more": {1, 2}}, b"item_scraped_count": 9},
    "objects": {Odd("<Odd a: 1, {b'>"): 1, "aaa": Odd("<Open ({["), "eee": Odd("<M\n x='1'>"), "zzz": Odd("<Shut )]}>")},
    "values": {"big": 2**53 + 1, "none": None, "none_text": "None", "true": True, "infinite": float("inf")},
}


class Shop(scrapy.Spider):
    name = "shop"

    async def start(self):
        for number in range(5):
            yield {"number": number}
        yield scrapy.Request("data:,page")

    def parse(self, response):
        for key, value in STATS.get(sys.argv[1], {}).items():
            self.crawler.stats._stats[key] = value


def main():
    for name, settings in SETTINGS.items():
        for level in ["INFO", "DEBUG"] if settings else ["INFO"]:
            with tempfile.TemporaryDirectory() as directory:
                log = os.path.join(directory, "run.log")
                subprocess.check_call([sys.executable, __file__, name, level, log])
                with open(log, encoding="utf-8") as file:
                    text = file.read().replace(directory, "/srv/logs")
            text = re.sub(r"\S+ \S+ \[scrapy[^\n]*(?:Enabled (?!ext)|Versions|Telnet|Remote)[^\n]*\n(?:[^2][^\n]*\n)*", "", text)
            with open(os.path.join(TARGET, "%s-%s.log" % (name, level.lower())), "w", encoding="utf-8") as out:
                out.write(text)


if len(sys.argv) == 1:
    main()
else:
    process = CrawlerProcess({"LOG_LEVEL": sys.argv[2], "LOG_FILE": sys.argv[3], **SETTINGS[sys.argv[1]]})
    process.crawl(Shop)
    process.start()

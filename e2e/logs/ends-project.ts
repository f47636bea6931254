import { aProjectName } from '../../src/shared/testing/ids.ts'
import { buildEgg } from '../../src/engine/projects/egg-builder.ts'

export const PROJECT = 'ends'

const SPIDERS = `import json
import logging
import os
import signal
import time

import scrapy
from scrapy import signals

from ends.site import Site


class Base(scrapy.Spider):
    pages = 12

    def __init__(self, pages=None, hold="0", **kwargs):
        super().__init__(**kwargs)
        self.wanted = int(pages or self.pages)
        self.hold = float(hold)
        self.site = Site(self.hold)

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.site.close, signal=signals.engine_stopped)
        return spider

    async def start(self):
        for request in self.start_requests():
            yield request

    def start_requests(self):
        for page in range(1, self.wanted + 1):
            yield scrapy.Request(self.site.address + "/page/%d" % page, callback=self.parse, cb_kwargs={"page": page})

    def parse(self, response, page):
        yield {"page": page, "title": "Überschrift 漢字 %d" % page}


class Fine(Base):
    name = "fine"


class Raises(Base):
    """Every third page raises; the run still finishes."""

    name = "raises"

    def parse(self, response, page):
        if page % 3 == 0:
            raise ValueError("page %d has no price" % page)
        yield {"page": page}


class Killed(Base):
    """Dies as by kill -9, in the middle."""

    name = "killed"

    def parse(self, response, page):
        yield {"page": page}
        if page == 5:
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGKILL)


class Memory(Base):
    """Scrapy's own memory limit stops it."""

    name = "memory"
    custom_settings = {"MEMUSAGE_ENABLED": True, "MEMUSAGE_LIMIT_MB": 1, "MEMUSAGE_CHECK_INTERVAL_SECONDS": 0.3}
    pages = 400

    def __init__(self, **kwargs):
        kwargs.setdefault("hold", "0.05")
        super().__init__(**kwargs)


class Enough(Base):
    name = "enough"
    custom_settings = {"CLOSESPIDER_ITEMCOUNT": 5, "CONCURRENT_REQUESTS": 1}
    pages = 60


class Imports(Base):
    """A module that the node does not have."""

    name = "imports"

    def start_requests(self):
        import a_module_that_nobody_has  # noqa: F401

        return super().start_requests()


class HidesEnd(Base):
    """Its settings hide how it ends; what it logs itself is at level INFO."""

    name = "hides-end"
    custom_settings = {"LOG_LEVEL": "WARNING"}


class Hush(Base):
    name = "hushes-scrapy"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        logging.getLogger("scrapy").setLevel(logging.WARNING)

    def parse(self, response, page):
        self.logger.info("Spider opened: %s", self.name)
        yield {"page": page}


class Disables(Base):
    """No logger says anything once it has begun."""

    name = "disables-logging"

    def parse(self, response, page):
        logging.disable(logging.CRITICAL)
        yield {"page": page}


class HidesLimit(Base):
    name = "hides-limit"
    custom_settings = {"LOG_LEVEL": "ERROR", "CLOSESPIDER_ERRORCOUNT": 1, "CONCURRENT_REQUESTS": 1}

    def parse(self, response, page):
        raise ValueError("on purpose")


class Unreachable(Base):
    """No request of it gets a response."""

    name = "unreachable"
    custom_settings = {"RETRY_ENABLED": False, "ROBOTSTXT_OBEY": False}

    def start_requests(self):
        yield scrapy.Request("http://127.0.0.1:1/")
        yield scrapy.Request("http://no-such-host.invalid/")


class UnreachableToo(Unreachable):
    name = "unreachable-too"


class NoDatabase:
    def open_spider(self, *args):
        raise RuntimeError("no database")


class Pipeline(Base):
    name = "pipeline"
    custom_settings = {"ITEM_PIPELINES": {NoDatabase: 1}}


class OtherFormat(Base):
    name = "other-format"
    custom_settings = {"LOG_FORMAT": "%(levelname)s | %(asctime)s | %(name)s | %(message)s"}


class JsonLog(Base):
    """Every line is JSON, as python-json-logger writes it."""

    name = "json-log"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        for handler in logging.root.handlers:
            handler.setFormatter(JsonFormatter())
        return super().from_crawler(crawler, *args, **kwargs)


class JsonFormatter(logging.Formatter):
    def format(self, record):
        fields = {
            "asctime": self.formatTime(record),
            "name": record.name,
            "levelname": record.levelname,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exc_info"] = self.formatException(record.exc_info)
        return json.dumps(fields)


class Quiet(Base):
    """Writes a line now and then for \`seconds\`, and counts them."""

    name = "quiet"
    custom_settings = {"LOGSTATS_INTERVAL": 1, "CONCURRENT_REQUESTS": 1}

    def __init__(self, seconds="4", **kwargs):
        super().__init__(pages=int(float(seconds) / 0.2), hold="0.2", **kwargs)

    def parse(self, response, page):
        self.logger.info("number %d of %d", page, self.wanted)
        yield {"page": page}


class Long(Quiet):
    """Another spider, so that its runs and those of the quiet one do not wait for each other."""

    name = "long"
`

const SITE = `import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    def __init__(self, hold):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                time.sleep(hold)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<html><title>a page</title></html>")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
`

const FILES = {
  'scrapy.cfg': '[settings]\ndefault = ends.settings\n',
  'ends/__init__.py': '',
  'ends/settings.py':
    'BOT_NAME = "ends"\nSPIDER_MODULES = ["ends.spiders"]\nTELNETCONSOLE_ENABLED = False\nDOWNLOAD_DELAY = 0\nAUTOTHROTTLE_ENABLED = False\n',
  'ends/site.py': SITE,
  'ends/spiders.py': SPIDERS
}

export async function endsEgg(): Promise<File> {
  const files = Object.entries(FILES).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
  const egg = await buildEgg(files, { project: aProjectName(PROJECT) })
  return new File([egg as Uint8Array<ArrayBuffer>], 'ends.egg')
}

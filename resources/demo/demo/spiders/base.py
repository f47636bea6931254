import os

import scrapy
from scrapy import signals

from demo.site import Site


class DemoSpider(scrapy.Spider):
    """Serves itself a small site, and notes each run in the touch file when one is named."""

    def __init__(self, pages="5", delay="0.2", **kwargs):
        super().__init__(**kwargs)
        self.pages = int(pages)
        self.delay = float(delay)

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        touch(crawler.settings, kwargs)
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.site = Site(spider.pages, spider.delay)
        spider.start_urls = ["%s/%s/1" % (spider.site.address, spider.name)]
        crawler.signals.connect(spider.site.close, signal=signals.engine_stopped)
        return spider

    def follow_links(self, response):
        for href in response.css("a.next::attr(href)").getall():
            yield response.follow(href, callback=self.parse)


def touch(settings, arguments):
    """One short O_APPEND write per run: lines of runs that start together do not mix."""
    path = arguments.get("touch_file") or settings.get("TOUCH_FILE") or os.environ.get("DEMO_TOUCH_FILE")
    if not path:
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, ("%s\n" % arguments.get("_job", "-")).encode())
    finally:
        os.close(descriptor)

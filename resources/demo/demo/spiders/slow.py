import time

from demo.spiders.base import DemoSpider


class SlowSpider(DemoSpider):
    """Goes from page to page until it is cancelled, or for `seconds` seconds."""

    name = "slow"

    def __init__(self, seconds="0", delay="0.5", **kwargs):
        super().__init__(pages="0", delay=delay, **kwargs)
        self.seconds = float(seconds)
        self.began = time.monotonic()

    def parse(self, response):
        tick = int(response.css("p.tick::text").get())
        self.logger.info("Tick %d", tick)
        yield {"tick": tick}
        if not self.seconds or time.monotonic() - self.began < self.seconds:
            yield from self.follow_links(response)

from demo.spiders.base import DemoSpider


class QuotesSpider(DemoSpider):
    """Follows `pages` pages of quotes, each of which takes `delay` seconds."""

    name = "quotes"

    def __init__(self, pages="10", delay="0.3", **kwargs):
        super().__init__(pages=pages, delay=delay, **kwargs)

    def parse(self, response):
        quotes = response.css("p.quote")
        self.logger.info("%d quotes on %s", len(quotes), response.url)
        for quote in quotes:
            text = quote.css("q::text").get()
            if len(text) > 60:
                self.logger.warning("A long quote: %s", text)
            yield {"text": text, "author": quote.css("cite::text").get(), "url": response.url}
        yield from self.follow_links(response)

from demo.spiders.base import DemoSpider


class PricesSpider(DemoSpider):
    """A shop with a few bad pages: some prices cannot be read, some pages are gone. The run still finishes."""

    name = "prices"

    def __init__(self, pages="12", delay="0.2", **kwargs):
        super().__init__(pages=pages, delay=delay, **kwargs)

    def parse(self, response):
        yield from self.follow_links(response)
        for row in response.css("p.item"):
            yield {"name": row.css("b::text").get(), "price": float(row.css("i::text").get()), "url": response.url}

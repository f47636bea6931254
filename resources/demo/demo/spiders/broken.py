from demo.spiders.base import DemoSpider


class BrokenSpider(DemoSpider):
    """Fails before its first request, as a spider with a wrong set-up does."""

    name = "broken"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        raise RuntimeError("This spider is broken on purpose")

"""The site that the demo spiders crawl: pages made on the spot, served on 127.0.0.1 by a thread of the spider itself."""

import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

QUOTES = [
    ("Simplicity is prerequisite for reliability.", "Edsger Dijkstra"),
    ("The purpose of computing is insight, not numbers.", "Richard Hamming"),
    ("Premature optimization is the root of all evil.", "Donald Knuth"),
    ("Programs must be written for people to read.", "Harold Abelson"),
    ("The most dangerous phrase is: we have always done it this way.", "Grace Hopper"),
    ("Deleted code is debugged code.", "Jeff Sickel"),
    ("Testing shows the presence, not the absence of bugs.", "Edsger Dijkstra"),
    ("Make it work, make it right, make it fast.", "Kent Beck"),
]
GOODS = ["kettle", "lamp", "chair", "teapot", "carpet", "mirror", "clock", "shelf", "stool", "vase"]


class Site:
    """Serves `/quotes/N`, `/prices/N` and `/slow/N`; every answer takes `delay` seconds."""

    def __init__(self, pages, delay):
        self.pages = pages
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                time.sleep(delay)
                status, body = site.answer(self.path)
                content = body.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args):
                """The spider's own log tells enough."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path):
        kind, _, number = path.strip("/").partition("/")
        page = int(number) if number.isdigit() else 0
        if kind not in ("quotes", "prices", "slow") or page < 1:
            return 404, "<h1>Not found</h1>"
        if kind == "prices" and page % 5 == 0:
            return 404, "<h1>Sold out</h1>"
        body = {"quotes": self.quotes, "prices": self.prices, "slow": self.slow}[kind](page)
        # A shop lists all its pages at once; the others lead from page to page.
        following = range(2, self.pages + 1) if kind == "prices" and page == 1 else [page + 1]
        links = "".join(
            '<a class="next" href="/%s/%d">%d</a>' % (kind, n, n)
            for n in following
            if (self.pages == 0 or n <= self.pages) and (kind != "prices" or page == 1)
        )
        return 200, "<html><body>%s<nav>%s</nav></body></html>" % (body, links)

    def quotes(self, page):
        picks = [QUOTES[(page * 3 + n) % len(QUOTES)] for n in range(5)]
        return "".join('<p class="quote"><q>%s</q> <cite>%s</cite></p>' % pick for pick in picks)

    def prices(self, page):
        chance = random.Random(page)
        rows = ["%.2f" % chance.uniform(3, 300) for _ in GOODS]
        if page % 3 == 0:
            rows[page % len(rows)] = "on request"
        return "".join('<p class="item"><b>%s</b> <i>%s</i></p>' % row for row in zip(GOODS, rows))

    def slow(self, page):
        return '<p class="tick">%d</p>' % page

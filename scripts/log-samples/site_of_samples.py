"""The site that the sampled spiders crawl: every kind of answer that Scrapy logs in its own way."""
import sys
import threading
import time

try:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer as Server
except ImportError:  # Python 3.6 runs a spider here, never the site.
    raise SystemExit("The site needs Python 3.7 or newer")


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/robots.txt":
            return self.answer(200, "User-agent: *\nDisallow: /private\n", "text/plain")
        if path.startswith("/page/"):
            number = int(path.rsplit("/", 1)[1])
            links = "".join('<a href="/page/%d">%d</a>' % (n, n) for n in range(number + 1, min(number + 3, 9)))
            return self.answer(200, "<html><title>Straße %d 価格</title><body>%s</body></html>" % (number, links))
        if path == "/moved":
            return self.answer(302, "", location="/page/1")
        if path == "/busy":
            return self.answer(503, "busy")
        if path == "/slow":
            time.sleep(3)
        if path == "/trickle":
            time.sleep(0.3)
            return self.answer(200, "<html></html>")
        return self.answer(404, "nothing")

    def answer(self, status, text, kind="text/html; charset=utf-8", location=None):
        body = text.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        try:
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # The spider gave up waiting.

    def log_message(self, *_):
        pass


def start():
    server = Server(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


if __name__ == "__main__":
    print(start())
    sys.stdout.flush()
    threading.Event().wait()

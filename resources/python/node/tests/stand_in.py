"""Nodes without Scrapyd: the package's own client and journal, with runs that only write their start and a log.

    python stand_in.py DIRECTORY URL    tokens on stdin, one a line: one node each
"""

import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from scrapdeck_node.client import Client  # noqa: E402
from scrapdeck_node.eggs import EggCache  # noqa: E402
from scrapdeck_node.files import RunFiles  # noqa: E402
from scrapdeck_node.journal import Journal  # noqa: E402
from scrapdeck_node.settings import Settings  # noqa: E402

LOG = """2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider opened
2026-01-01 00:00:00 [scrapy.core.engine] INFO: Closing spider (finished)
2026-01-01 00:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:
{'finish_reason': 'finished', 'item_scraped_count': 1, 'log_count/INFO': 3}
2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider closed (finished)
"""


class StandInHost:
    scrapyd_version = "1.6.0"

    def __init__(self, directory, slots, seconds):
        self.slots = slots
        self._seconds = seconds
        self._free = slots
        self._lock = threading.Lock()
        self.files = RunFiles(os.path.join(directory, "logs"), None, 5)
        self._starts = os.open(os.path.join(directory, "starts"), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        self.client = None

    def free_slots(self):
        with self._lock:
            return self._free

    def start(self, offer):
        with self._lock:
            self._free -= 1
        os.write(self._starts, f"{offer['jobid']}\n".encode())
        path = self.path_of("log", offer["project"], offer["spider"], offer["jobid"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(LOG)
        self.client.spawned(offer["project"], offer["jobid"], os.getpid())
        threading.Timer(self._seconds, self._end, (offer,)).start()

    def _end(self, offer):
        with self._lock:
            self._free += 1
        self.client.ended(offer["project"], offer["jobid"], 0, None)

    def signal(self, project, jobid, name):
        return False

    def path_of(self, kind, project, spider, jobid):
        return self.files.path_of(kind, project, spider, jobid)

    def open_file(self, *names):
        return self.files.open(*names)

    def write_log(self, project, spider, jobid, text):
        pass

    def prune_files(self):
        pass

    def egg_arrived(self, project):
        pass


def start_node(directory, url, token, slots=4, seconds=0.02):
    os.makedirs(directory, exist_ok=True)
    state = os.path.join(directory, "state")
    host = StandInHost(directory, slots, seconds)
    proxy = os.environ.get("STAND_IN_PROXY")
    settings = Settings(url, token, state, proxy=proxy or "direct", insecure_http=True)
    journal = Journal(state)
    host.client = Client(settings, journal, EggCache(state), host, log=lambda _message: None)
    host.client.start()
    return host.client


if __name__ == "__main__":
    root, address = sys.argv[1:]
    for number, line in enumerate(sys.stdin.read().split()):
        start_node(os.path.join(root, f"{os.getpid()}-{number}"), address, line)
    threading.Event().wait()

import contextlib
import hashlib
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from scrapdeck_node import client, host, journal, processes
from scrapdeck_node.client import Client, SendState
from scrapdeck_node.eggs import BadEgg, EggCache
from scrapdeck_node.files import RunFiles
from scrapdeck_node.journal import Journal
from scrapdeck_node.settings import Settings, checked_url
from test_journal import offer


# Self-signed; nobody has its key.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBgjCCASmgAwIBAgIUbjKGj7iaY70uq++vWjk90zfz9r0wCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLYSB0ZXN0J3MgQ0EwIBcNMjYxMTI3MDk0MDM1WhgPMjEyNjEx
MDMwOTQwMzVaMBYxFDASBgNVBAMMC2EgdGVzdCdzIENBMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAElKX/OBElXcISKzsGP+gtZ59bOXIQPtYqXfmOoYCAZpGMzrTl
uzSy15KYdA7J49kzbZiSuOcPS4si8yLw7/XTH6NTMFEwHQYDVR0OBBYEFJ80ucFf
9sOdVhgcvHsvjkAZCTwSMB8GA1UdIwQYMBaAFJ80ucFf9sOdVhgcvHsvjkAZCTwS
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgYjM9mzkqZQ57MbDu
khyQndeAj0jK6jJyfiNJRJKj8ksCIEMq9utPtyTcSPUM7ucGFCxlQecr/Faj4YYT
hqTLFZtJ
-----END CERTIFICATE-----
"""


class InDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name


class EggTest(InDirectory):
    def test_an_egg_is_fetched_once_and_only_if_it_is_the_right_one(self):
        eggs, content = EggCache(self.directory), b"an egg"
        egg = {"sha256": hashlib.sha256(content).hexdigest(), "sizeBytes": len(content)}
        fetched = []

        def download(write):
            fetched.append(1)
            write(content[:3])
            write(content[3:])

        place = eggs.fetch("my shop", "1/2", egg, download)
        self.assertTrue(place.endswith("my_shop-1_2.egg"))
        self.assertEqual(eggs.fetch("my shop", "1/2", egg, download), place)
        self.assertEqual(fetched, [1])
        self.assertEqual((eggs.projects(), eggs.versions("my shop")), (["my shop"], ["1/2"]))
        for wrong in (b"an owl", b"an egg and more"):
            with self.assertRaises(BadEgg):
                EggCache(self.directory + "/other").fetch("p", "1", egg, lambda write, wrong=wrong: write(wrong))
        with self.assertRaises(BadEgg):
            eggs.fetch("p", "1", {"sha256": "../../x", "sizeBytes": 1}, download)

    def test_a_name_never_leaves_the_cache(self):
        root = os.path.join(self.directory, "eggs")
        for name in ("..", ".", "/etc", "a/../..", ""):
            place = os.path.abspath(EggCache(self.directory)._place(name, name, "a" * 64))
            self.assertTrue(place.startswith(root + os.sep), place)


class FilesTest(InDirectory):
    def test_no_name_leaves_the_directory(self):
        files = RunFiles(self.directory, None, 5)
        self.assertEqual(files.path_of("log", "p", "s", "j"), os.path.join(self.directory, "p", "s", "j.log"))
        for part in ("..", ".", "", "a/b", "a\\b", "a\0b", "a" * 251):
            self.assertIsNone(files.path_of("log", part, "s", "j"))
            self.assertIsNone(files.path_of("log", "p", "s", part))
        self.assertIsNone(files.path_of("items", "p", "s", "j"))

    @unittest.skipUnless(hasattr(os, "mkfifo"), "needs pipes with names")
    def test_what_a_spider_put_in_the_place_of_a_log_is_not_read(self):
        files, secret = RunFiles(os.path.join(self.directory, "logs"), None, 5), os.path.join(self.directory, "secret")
        own = os.path.join(self.directory, "logs", "p", "s")
        os.makedirs(own)
        for path in (secret, os.path.join(own, "log.log")):
            with open(path, "w") as file:
                file.write("text")
        with files.open("log", "p", "s", "log") as file:
            self.assertEqual(file.read(), b"text")
        os.symlink(secret, os.path.join(own, "link.log"))
        os.mkfifo(os.path.join(own, "pipe.log"))
        os.mkdir(os.path.join(own, "folder.log"))
        os.mkdir(os.path.join(self.directory, "elsewhere"))
        os.rename(secret, os.path.join(self.directory, "elsewhere", "secret.log"))
        os.symlink(os.path.join(self.directory, "elsewhere"), os.path.join(self.directory, "logs", "p", "t"))
        for spider, jobid in (("s", "link"), ("s", "pipe"), ("s", "folder"), ("t", "secret"), ("s", "..")):
            with self.assertRaises(FileNotFoundError):
                files.open("log", "p", spider, jobid)

    def test_the_oldest_logs_go_but_none_that_is_needed(self):
        parent = os.path.join(self.directory, "p", "s")
        os.makedirs(parent)
        for number in range(6):
            path = os.path.join(parent, f"j{number}.log")
            with open(path, "w", encoding="utf-8"):
                os.utime(path, (number, number))
        RunFiles(self.directory, None, 2).prune({("p", "j1")})
        self.assertEqual(sorted(os.listdir(parent)), ["j1.log", "j4.log", "j5.log"])


class HostTest(unittest.TestCase):
    def test_logs_are_deleted_where_scrapyd_starts_runs_as_it_reads_their_ages_then(self):
        files = mock.Mock()
        journal_ = mock.Mock(list=lambda *_: [], list_ended=lambda _: [])
        asked = []
        with mock.patch.object(host, "reactor", mock.Mock(callFromThread=lambda *call: asked.append(call))):
            host.ScrapydHost(None, mock.Mock(max_proc=1), None, files, journal_, None).prune_files()
        files.prune.assert_not_called()
        self.assertEqual(asked, [(files.prune, set())])


class SettingsTest(unittest.TestCase):
    def test_a_token_is_not_sent_over_plain_http_unasked(self):
        self.assertEqual(checked_url("https://deck.example/base", False), "https://deck.example/base/")
        self.assertEqual(checked_url("http://127.0.0.1:6800", False), "http://127.0.0.1:6800/")
        self.assertEqual(checked_url("http://deck.example/", True), "http://deck.example/")
        for url in ("http://deck.example", "ftp://deck.example", "deck.example"):
            with self.assertRaises(ValueError):
                checked_url(url, False)

    def test_a_file_of_a_private_ca_is_read_at_the_start_from_the_section_or_the_variable(self):
        with tempfile.TemporaryDirectory() as directory:
            certificate, other = os.path.join(directory, "ca.pem"), os.path.join(directory, "other.pem")
            with open(certificate, "w", encoding="ascii") as file:
                file.write(CERTIFICATE)
            with open(other, "w", encoding="ascii") as file:
                file.write("no certificate\n")
            self.assertEqual(self.read(ca_file=certificate).ca_file, certificate)
            self.assertIsNone(self.read().ca_file)
            with mock.patch.dict(os.environ, {"SCRAPDECK_CA_FILE": certificate}):
                self.assertEqual(self.read(ca_file=other).ca_file, certificate)
            for wrong in (other, directory, os.path.join(directory, "none.pem")):
                with self.assertRaisesRegex(ValueError, "ca_file"):
                    self.read(ca_file=wrong)

    def read(self, **more):
        return Settings.read(Section({"url": "https://deck.example/", "token": "t", **more}))


class Section:
    def __init__(self, values):
        self._values = values

    def items(self, _name, default):
        return list(self._values.items()) or default

    def get(self, _option, default):
        return default


class SendTest(unittest.TestCase):
    def test_what_was_not_answered_stays(self):
        state = SendState()
        state.answer(1, {})
        state.answer(2, {})
        self.assertEqual([next(state.each_message())[1]["id"] for _ in range(2)], [1, 1])
        state.sent()
        self.assertEqual(next(state.each_message())[1]["id"], 2)
        state.lists(3)
        state.lists(2)
        self.assertEqual((state.take_lists(), state.take_lists()), (3, None))


class RecordingHost:
    scrapyd_version = "1.6.0"
    slots = 2

    def __init__(self, directory):
        self._files = RunFiles(directory, None, 5)
        self.started = []

    def free_slots(self):
        return self.slots

    def path_of(self, *names):
        return self._files.path_of(*names)

    def open_file(self, *names):
        return self._files.open(*names)

    def start(self, started):
        self.started.append(started["jobid"])


class PollTest(InDirectory):
    @mock.patch.object(client, "POLL_SECONDS", 0)
    @mock.patch.object(client, "POLL_LATE_SECONDS", 0.3)
    def test_a_poll_that_nobody_answers_is_given_up_and_asked_again_on_another_connection(self):
        polls = []
        given_up = threading.Event()

        class Door(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                answer = {"commands": [], "epoch": 1, "node": {"name": "n"}}
                if self.path.endswith("/poll"):
                    polls.append(self.client_address)
                    if len(polls) == 1:
                        # An engine that stands still: its connections stay open.
                        given_up.wait(10)
                        return
                    given_up.set()
                    time.sleep(0.05)
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words):
                pass

            def handle(self):
                # The node is stopped, or has given up.
                with contextlib.suppress(OSError):
                    super().handle()

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        book = Journal(os.path.join(self.directory, "state"))
        self.addCleanup(book.close)
        settings = Settings(f"http://127.0.0.1:{server.server_port}", "t", self.directory, proxy="direct")
        node = Client(settings, book, EggCache(self.directory), RecordingHost(self.directory), log=lambda _message: None)
        self.addCleanup(node.stop)
        node.start()
        self.assertTrue(given_up.wait(5))
        self.assertNotEqual(polls[0], polls[1])


@unittest.skipUnless(os.path.isdir("/proc/self"), "needs /proc")
class RecoveryTest(InDirectory):
    """What a start makes of the runs that an earlier Scrapyd left, whenever that one was killed."""

    def recover(self, prepare, boot=None):
        book = Journal(os.path.join(self.directory, "state"))
        self.addCleanup(book.close)
        book.offer(offer("a"))
        book.grant("shop", "a")
        prepare(book, boot or processes.boot_id())
        host = RecordingHost(self.directory)
        settings = Settings("http://127.0.0.1:1", "t", self.directory)
        client = Client(settings, book, EggCache(self.directory), host, log=lambda _message: None)
        client._recover()
        client._start_waiting()
        return book.find("shop", "a")["state"], host.started, client.orphan_count()

    def spider(self, *args):
        process = subprocess.Popen([sys.executable, "-c", "input()", *args], stdin=subprocess.PIPE)
        self.addCleanup(process.communicate)
        return process

    def log(self):
        path = os.path.join(self.directory, "shop", "prices", "a.log")
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("it ran\n")

    def test_granted_and_not_started(self):
        self.assertEqual(self.recover(lambda _book, _boot: None), (journal.STARTING, ["a"], 0))

    def test_killed_before_its_process_was_created(self):
        self.assertEqual(self.recover(lambda book, boot: book.start("shop", "a", boot)), (journal.STARTING, ["a"], 0))

    def test_killed_before_the_pid_was_noted(self):
        self.spider("_job=a")
        self.assertEqual(self.recover(lambda book, boot: book.start("shop", "a", boot)), (journal.RUNNING, [], 1))

    def test_killed_before_the_pid_was_noted_and_the_spider_has_ended(self):
        self.log()
        self.assertEqual(self.recover(lambda book, boot: book.start("shop", "a", boot)), (journal.ENDED, [], 0))

    def test_the_machine_was_restarted_and_the_log_may_be_gone(self):
        self.assertEqual(self.recover(lambda book, _boot: book.start("shop", "a", "b4")), (journal.ENDED, [], 0))

    def test_still_running(self):
        pid = self.spider("_job=a").pid

        def prepare(book, boot):
            book.start("shop", "a", boot)
            book.running("shop", "a", pid, processes.start_of(pid), "now")

        self.assertEqual(self.recover(prepare), (journal.RUNNING, [], 1))

    def test_its_pid_belongs_to_another_process_now(self):
        def prepare(book, boot):
            book.start("shop", "a", boot)
            book.running("shop", "a", os.getpid(), "12", "now")

        self.assertEqual(self.recover(prepare), (journal.ENDED, [], 0))


if __name__ == "__main__":
    unittest.main()

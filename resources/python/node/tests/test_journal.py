import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from scrapdeck_node import journal
from scrapdeck_node.journal import Busy, Journal


def offer(jobid, priority=0, project="shop"):
    return {
        **{"project": project, "jobid": jobid, "spider": "prices", "version": "1", "priority": priority},
        **{"settings": {}, "args": {"key": "secret value"}, "env": {}, "egg": {"sha256": "a" * 64, "sizeBytes": 1}},
    }


class JournalTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.journal = Journal(self.directory.name)
        self.addCleanup(lambda: self.journal.close())

    def reopen(self):
        self.journal.close()
        self.journal = Journal(self.directory.name)

    def states(self):
        every = (journal.OFFERED, journal.GRANTED, journal.STARTING, journal.RUNNING, journal.ENDED)
        return {row["jobid"]: row["state"] for row in self.journal.list(*every)}

    def test_a_run_goes_from_state_to_state_and_never_back(self):
        self.assertTrue(self.journal.offer(offer("a")))
        self.assertFalse(self.journal.offer(offer("a")))
        self.assertFalse(self.journal.start("shop", "a", "boot"))
        self.assertTrue(self.journal.grant("shop", "a"))
        self.assertFalse(self.journal.forget("shop", "a"))
        self.assertTrue(self.journal.start("shop", "a", "boot"))
        self.assertFalse(self.journal.start("shop", "a", "boot"))
        self.assertTrue(self.journal.running("shop", "a", 12, "34", "now"))
        self.assertTrue(self.journal.end("shop", "a", "later", 0))
        self.assertFalse(self.journal.end("shop", "a", "later still", 1))
        self.assertEqual(self.journal.find("shop", "a")["exit_code"], 0)
        self.assertFalse(self.journal.offer(offer("a")))

    def test_all_survives_a_restart_with_the_same_instance(self):
        instance = self.journal.instance
        self.journal.offer(offer("a"))
        self.journal.offer(offer("b"))
        self.journal.grant("shop", "b")
        self.journal.epoch = 7
        self.reopen()
        self.assertEqual(self.states(), {"a": "offered", "b": "granted"})
        self.assertEqual((self.journal.instance, self.journal.epoch), (instance, 7))

    def test_a_run_that_has_started_leaves_its_arguments_nowhere(self):
        self.journal.offer(offer("a"))
        self.journal.grant("shop", "a")
        self.journal.start("shop", "a", "boot")
        self.journal.running("shop", "a", 12, "34", "now")
        self.reopen()
        self.journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for name in os.listdir(self.directory.name):
            with open(os.path.join(self.directory.name, name), "rb") as file:
                self.assertNotIn(b"secret value", file.read(), name)

    @mock.patch.object(journal, "ACKED_KEPT", 10)
    def test_of_acknowledged_ends_the_newest_are_remembered_and_all_others(self):
        for number in range(30):
            jobid = f"j{number}"
            self.journal.offer(offer(jobid))
            self.journal.grant("shop", jobid)
            self.journal.end("shop", jobid, "now")
        self.journal.ack([("shop", f"j{number}") for number in range(25)])
        self.assertEqual(self.journal.count_unacked(), 5)
        self.assertIsNone(self.journal.find("shop", "j14"))
        self.assertIsNotNone(self.journal.find("shop", "j15"))
        self.assertEqual(len(self.journal.list_ended(4)), 9)

    def test_two_processes_cannot_use_it_at_once(self):
        with self.assertRaises(Busy):
            Journal(self.directory.name)

    @unittest.skipIf(os.name == "nt", "SIGKILL")
    def test_what_was_recorded_survives_a_kill(self):
        self.journal.close()
        script = (
            "import os, signal, sys; from scrapdeck_node.journal import Journal; from test_journal import offer\n"
            "j = Journal(sys.argv[1]); j.offer(offer('a')); j.grant('shop', 'a'); os.kill(os.getpid(), signal.SIGKILL)"
        )
        ended = subprocess.run([sys.executable, "-c", script, self.directory.name], check=False)
        self.assertEqual(ended.returncode, -9)
        self.journal = Journal(self.directory.name)
        self.assertEqual(self.states(), {"a": "granted"})


if __name__ == "__main__":
    unittest.main()

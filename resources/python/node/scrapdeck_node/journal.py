"""What this node must not forget: the runs it was offered, claimed, started and ended, in one SQLite file."""

import json
import os
import sqlite3
import threading
import time
import uuid

#   offered --(Scrapdeck grants the claim)--> granted --(a slot is free)--> starting --> running --> ended
#      \--(gone)--> forgotten
OFFERED, GRANTED, STARTING, RUNNING, ENDED = "offered", "granted", "starting", "running", "ended"

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
  project TEXT NOT NULL,
  jobid TEXT NOT NULL,
  spider TEXT NOT NULL,
  state TEXT NOT NULL,
  place INTEGER NOT NULL,
  priority REAL NOT NULL,
  sha256 TEXT,
  offer TEXT,
  boot TEXT,
  pid INTEGER,
  pid_start TEXT,
  start_time TEXT,
  end_time TEXT,
  exit_code INTEGER,
  exit_signal TEXT,
  note TEXT,
  acked INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project, jobid)
);
CREATE INDEX IF NOT EXISTS runs_by_state ON runs (state, place);
"""
COLUMNS = (
    "project, jobid, spider, state, place, priority, sha256, offer, boot, pid, pid_start, start_time, end_time, "
    "exit_code, exit_signal, note, acked"
)
# Of ended runs that Scrapdeck has acknowledged, as many are remembered, to recognize them if they are asked for.
ACKED_KEPT = 1000


class Busy(Exception):
    """Another process uses this directory."""


class Journal:
    """Every method is one transaction, on disk when it returns. Threads may share it."""

    def __init__(self, directory):
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._file_lock = lock_directory(directory)
        self._lock = threading.Lock()
        path = os.path.join(directory, "node.db")
        # Settings and arguments of jobs may be secret.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA secure_delete = ON")
        self._db.executescript(SCHEMA)
        self.instance = self._meta("instance", lambda: uuid.uuid4().hex)
        self._created_at = float(self._meta("created_at", lambda: repr(time.time())))
        self._place = self._db.execute("SELECT coalesce(max(place), 0) FROM runs").fetchone()[0]

    def age_seconds(self):
        return max(0.0, time.time() - self._created_at)

    @property
    def epoch(self):
        return int(self._meta("epoch", lambda: "0"))

    @epoch.setter
    def epoch(self, value):
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('epoch', ?)", (str(value),))

    def offer(self, offer):
        """Records an offer. False: it is already known."""
        with self._lock:
            self._place += 1
            egg = offer.get("egg") or {}
            done = self._db.execute(
                "INSERT OR IGNORE INTO runs (project, jobid, spider, state, place, priority, sha256, offer) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(offer["project"], offer["jobid"], offer["spider"], OFFERED, self._place),
                    *(float(offer.get("priority") or 0), egg.get("sha256"), json.dumps(offer)),
                ),
            )
            return done.rowcount > 0

    def forget(self, project, jobid):
        """Only a run that was not granted can be forgotten."""
        with self._lock:
            done = self._db.execute(
                "DELETE FROM runs WHERE project = ? AND jobid = ? AND state = ?", (project, jobid, OFFERED)
            )
            return done.rowcount > 0

    def grant(self, project, jobid):
        return self._move(project, jobid, (OFFERED,), "state = ?", (GRANTED,))

    def start(self, project, jobid, boot):
        return self._move(project, jobid, (GRANTED,), "state = ?, boot = ?", (STARTING, boot))

    def unstart(self, project, jobid):
        """Its process provably never existed."""
        return self._move(project, jobid, (STARTING,), "state = ?", (GRANTED,))

    def running(self, project, jobid, pid, pid_start, start_time):
        # The process has its settings and arguments; they are not needed again.
        return self._move(
            *(project, jobid, (STARTING,)),
            "state = ?, pid = ?, pid_start = ?, start_time = ?, offer = NULL",
            (RUNNING, pid, pid_start, start_time),
        )

    def end(self, project, jobid, end_time, exit_code=None, exit_signal=None, note=None):
        return self._move(
            *(project, jobid, (GRANTED, STARTING, RUNNING)),
            "state = ?, end_time = ?, exit_code = ?, exit_signal = ?, note = ?, offer = NULL, "
            "start_time = coalesce(start_time, ?)",
            (ENDED, end_time, exit_code, exit_signal, note, end_time),
        )

    def ack(self, pairs):
        """Scrapdeck has recorded these ends: the oldest of them may be forgotten."""
        with self._lock, self._transaction():
            self._db.executemany("UPDATE runs SET acked = 1 WHERE project = ? AND jobid = ? AND state = 'ended'", pairs)
            self._db.execute(
                "DELETE FROM runs WHERE state = 'ended' AND acked = 1 AND place <= coalesce((SELECT place FROM runs "
                "WHERE state = 'ended' AND acked = 1 ORDER BY place DESC LIMIT 1 OFFSET ?), -1)",
                (ACKED_KEPT,),
            )

    def find(self, project, jobid):
        with self._lock:
            row = self._db.execute(
                f"SELECT {COLUMNS} FROM runs WHERE project = ? AND jobid = ?", (project, jobid)
            ).fetchone()
        return None if row is None else dict(row)

    def list(self, *states):
        marks = ", ".join("?" * len(states))
        with self._lock:
            rows = self._db.execute(f"SELECT {COLUMNS} FROM runs WHERE state IN ({marks}) ORDER BY place", states)
            return [dict(row) for row in rows]

    def list_ended(self, acked_max):
        """All ends that Scrapdeck has not acknowledged, and the newest of the others."""
        with self._lock:
            rows = self._db.execute(
                f"SELECT {COLUMNS} FROM runs WHERE state = 'ended' AND acked = 0 "
                f"UNION ALL SELECT * FROM (SELECT {COLUMNS} FROM runs WHERE state = 'ended' AND acked = 1 "
                "ORDER BY place DESC LIMIT ?)",
                (acked_max,),
            )
            return [dict(row) for row in rows]

    def count_unacked(self):
        with self._lock:
            return self._db.execute("SELECT count(*) FROM runs WHERE state = 'ended' AND acked = 0").fetchone()[0]

    def close(self):
        with self._lock:
            self._db.close()
        os.close(self._file_lock)

    def _move(self, project, jobid, states, change, values):
        marks = ", ".join("?" * len(states))
        with self._lock:
            done = self._db.execute(
                f"UPDATE runs SET {change} WHERE project = ? AND jobid = ? AND state IN ({marks})",
                (*values, project, jobid, *states),
            )
            return done.rowcount > 0

    def _meta(self, key, make):
        with self._lock:
            self._db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, make()))
            return self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0]

    def _transaction(self):
        return Transaction(self._db)


class Transaction:
    def __init__(self, db):
        self._db = db

    def __enter__(self):
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind, _error, _traceback):
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def lock_directory(directory):
    """Takes a lock that the system releases when the process ends, however it ends."""
    descriptor = os.open(os.path.join(directory, "lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        import fcntl
    except ImportError:  # Windows has no fcntl, and msvcrt locks suffice there.
        import msvcrt

        lock = lambda: msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # noqa: E731
    else:
        lock = lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # noqa: E731
    try:
        lock()
    except OSError as error:
        os.close(descriptor)
        raise Busy(f"another Scrapyd uses {directory}; give each its own dbs_dir or state_dir") from error
    return descriptor

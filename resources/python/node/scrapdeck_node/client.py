"""The conversation with Scrapdeck: sessions, claims, lists. Runs in threads of its own and knows nothing of Scrapyd.

    poll   one long request after the other: what Scrapdeck wants of this node
    work   the journal: the only thread that moves a run from one state to the next
    send   claims and lists, again and again until they are answered
    eggs   fetches eggs
    files  sends parts of logs and items
"""

import json
import os
import queue
import random
import threading
import time
import traceback
import uuid
from datetime import datetime

from scrapdeck_node import PROTOCOL, __version__, journal, processes
from scrapdeck_node.eggs import BadEgg
from scrapdeck_node.transport import Refused, Transport, Unreachable, hostname

POLL_SECONDS = 10
# A poll this late was lost: a stalled engine keeps its connections, and another one leads by now.
POLL_LATE_SECONDS = 8
REQUEST_SECONDS = 20
FILE_BYTES_MAX = 1024 * 1024
ACKED_LISTED = 100
# With so many unacknowledged ends, something is wrong at Scrapdeck: start nothing new.
UNACKED_MAX = 5000
TAKE_UP_AGAIN_SECONDS = 15


class Session:
    def __init__(self, epoch, seen=0):
        self.id = uuid.uuid4().hex
        self.epoch = epoch
        self.seen = seen

    def stamp(self, **more):
        return {"session": self.id, "epoch": self.epoch, **more}


class Client:
    """`host` runs the spiders: see ScrapydHost (host.py) for what it must have."""

    def __init__(self, settings, journal_, eggs, host, log=print):
        self._settings = settings
        self._journal = journal_
        self._eggs = eggs
        self._host = host
        self._log = log
        self._session = None
        self._is_superseded = False
        self._stopped = threading.Event()
        self._work = queue.Queue()
        self._send = SendState()
        self._egg_jobs = queue.Queue()
        self._file_jobs = queue.Queue(maxsize=64)
        self._transports = []
        self._fetched = set()
        self._orphans = {}
        self._waiting = []
        self._boot = processes.boot_id()

    def start(self):
        self._recover()
        for name in ("poll", "work", "send", "eggs", "files"):
            loop = getattr(self, f"_{name}_loop")
            threading.Thread(target=self._guarded, args=(loop,), name=f"scrapdeck-{name}", daemon=True).start()

    def stop(self):
        self._stopped.set()
        for transport in self._transports:
            transport.close()
        self._send.wake()
        self._work.put(("tick",))

    # What the host reports, from any thread.

    def slots_changed(self):
        self._work.put(("tick",))

    def spawned(self, project, jobid, pid):
        self._work.put(("spawned", project, jobid, pid, now_text()))

    def not_spawned(self, project, jobid, why):
        self._work.put(("not_spawned", project, jobid, why))

    def ended(self, project, jobid, exit_code, exit_signal):
        self._work.put(("ended", project, jobid, exit_code, exit_signal, now_text()))

    def orphan_count(self):
        return len(self._orphans)

    def waiting(self, project=None):
        """Runs that wait here for a slot, as of the last change: the reactor must not wait for the disk."""
        return [row for row in self._waiting if project is None or row["project"] == project]

    def remove_waiting(self, project, jobids):
        """For cancel.json of this Scrapyd."""
        for jobid in jobids:
            self._work.put(("remove", project, jobid))

    # The start: what became of the runs that an earlier Scrapyd had begun?

    def _recover(self):
        for row in self._journal.list(journal.STARTING, journal.RUNNING):
            names = (row["project"], row["jobid"])
            pid, started = row["pid"], row["pid_start"]
            is_same_boot = row["boot"] == self._boot
            if row["state"] == journal.RUNNING:
                if is_same_boot and pid is not None and processes.start_of(pid) == started:
                    self._orphans[names] = (pid, started)
                else:
                    self._journal.end(*names, now_text())
                continue
            # Scrapyd was killed between its decision to start the run and the note that it did.
            found = processes.find_run(row["jobid"]) if is_same_boot else None
            if found is not None:
                started = processes.start_of(found)
                self._journal.running(*names, found, started, now_text())
                self._orphans[names] = (found, started)
            elif self._never_ran(row, is_same_boot):
                self._journal.unstart(*names)
            else:
                self._journal.end(*names, now_text())
        if self._orphans:
            self._log(f"{len(self._orphans)} spiders of the last Scrapyd are still running and are followed")

    def _never_ran(self, row, is_same_boot):
        """After a power failure even a log that was written may be gone, so that its absence proves nothing."""
        path = self._host.path_of("log", row["project"], row["spider"], row["jobid"])
        return is_same_boot and path is not None and not os.path.exists(path)

    # poll

    def _poll_loop(self):
        transport = self._transport()
        delay = 0
        while not self._stopped.wait(delay):
            try:
                if self._session is None:
                    self._open(transport)
                session = self._session
                body = session.stamp(acked=session.seen, waitSeconds=POLL_SECONDS, status=self._status())
                answer = transport.post("poll", body, POLL_SECONDS + POLL_LATE_SECONDS)
                if self._session is session:
                    for command in answer["commands"]:
                        if command["n"] > session.seen:
                            session.seen = command["n"]
                            self._receive(command)
                delay = 0
            except Refused as error:
                delay = self._after_refusal(error)
            except Unreachable as error:
                if delay == 0:
                    self._log(f"Scrapdeck does not answer ({error}); trying again")
                delay = next_delay(delay)
            except (KeyError, TypeError, ValueError) as error:
                self._log(f"Scrapdeck sent what this version does not understand: {error!r}")
                delay = next_delay(max(delay, 1))

    def _open(self, transport):
        session = Session(0)
        answer = transport.post(
            "open",
            {
                "protocol": PROTOCOL,
                "session": session.id,
                "instance": self._journal.instance,
                "lastEpoch": self._journal.epoch,
                "isTakeover": not self._is_superseded,
                "journalSeconds": int(self._journal.age_seconds()),
                "hostname": hostname(),
                "package": __version__,
                "scrapyd": self._host.scrapyd_version,
                "slots": self._host.slots,
            },
            REQUEST_SECONDS,
        )
        session.epoch = int(answer["epoch"])
        self._journal.epoch = session.epoch
        self._session = session
        self._is_superseded = False
        self._log(f"pulls jobs from {self._settings.url} as {answer['node']['name']} (epoch {session.epoch})")
        for row in self._journal.list(journal.OFFERED):
            # Perhaps it was granted, and the answer was lost. A claimed run has its egg here.
            offer = json.loads(row["offer"])
            if self._eggs.path_of(offer["project"], offer["version"], row["sha256"]):
                self._fetched.add((row["project"], row["jobid"]))
            else:
                self._egg_jobs.put(offer)
        self._send.claim()
        self._send.lists()

    def _after_refusal(self, error):
        """How long to wait before the next request."""
        if error.code == "NODE_SESSION_UNKNOWN":
            self._session = None
            return 0.1
        if error.code == "NODE_SESSION_SUPERSEDED":
            self._log("another Scrapyd pulls with this node's token; this one waits until that one stops")
            self._session, self._is_superseded = None, True
            return TAKE_UP_AGAIN_SECONDS
        if error.code == "NODE_SESSION_HELD":
            self._log(str(error))
            return float(error.retry_after or TAKE_UP_AGAIN_SECONDS)
        self._log(f"Scrapdeck refuses this node: {error}")
        return float(error.retry_after or 30)

    def _receive(self, command):
        kind = command["kind"]
        if kind == "read":
            try:
                self._file_jobs.put_nowait(command)
            except queue.Full:
                self._send.answer(command["id"], {"problem": "too many reads at once"})
        else:
            self._work.put((kind, command))

    def _status(self):
        return {
            "pending": len(self._journal.list(journal.GRANTED, journal.STARTING)),
            "running": len(self._journal.list(journal.RUNNING)),
            "timeMs": int(time.time() * 1000),
        }

    # work

    def _work_loop(self):
        while not self._stopped.is_set():
            try:
                item = self._work.get(timeout=1)
            except queue.Empty:
                item = ("tick",)
            handle = getattr(self, "_on_" + item[0], None)
            if handle is not None:
                handle(*item[1:])
            self._watch_orphans()
            self._start_waiting()

            self._waiting = self._journal.list(journal.GRANTED, journal.STARTING)

    def _on_tick(self):
        pass

    def _on_remove(self, project, jobid):
        self._end_waiting(project, jobid, "Cancelled on the node before it started")

    def _on_offer(self, command):
        offer = command["offer"]
        names = (offer["project"], offer["jobid"])
        self._journal.offer(offer)
        if self._journal.find(*names)["state"] != journal.OFFERED:
            # Offered again, because the answer to our claim was lost; the lists tell what it became.
            self._send.lists()
        elif names in self._fetched:
            self._send.claim()
        else:
            self._egg_jobs.put(offer)

    def _on_fetched(self, offer):
        self._fetched.add((offer["project"], offer["jobid"]))
        self._send.claim()

    def _on_unfetched(self, offer, kind, why):
        if self._journal.forget(offer["project"], offer["jobid"]):
            self._send.refuse(offer, kind, why)

    def _on_withdraw(self, command):
        names = (command["project"], command["jobid"])
        self._journal.forget(*names)
        self._fetched.discard(names)

    def _on_claimed(self, project, jobid, verdict):
        if verdict == "granted":
            self._journal.grant(project, jobid)
            self._send.lists()
        else:
            self._journal.forget(project, jobid)
        self._fetched.discard((project, jobid))

    def _on_list(self, command):
        self._send.lists(through=command["n"])

    def _on_ack(self, command):
        self._journal.ack([(run["project"], run["jobid"]) for run in command["runs"]])
        needed = {row["sha256"] for row in self._journal.list(journal.OFFERED, journal.GRANTED, journal.STARTING)}
        running = {row["sha256"] for row in self._journal.list(journal.RUNNING)}
        self._eggs.prune(needed | running)
        self._host.prune_files()

    def _on_cancel(self, command):
        project, jobid = command["project"], command["jobid"]
        row = self._journal.find(project, jobid)
        was = None
        problem = None
        try:
            if row is not None and row["state"] == journal.GRANTED:
                was = "pending" if self._end_waiting(project, jobid, "Cancelled before it started") else None
            elif row is not None and row["state"] in (journal.STARTING, journal.RUNNING):
                was = self._signal(project, jobid, command["signal"])
        except (OSError, KeyError, ValueError, TypeError) as error:
            problem = f"{type(error).__name__}: {error}"
        self._send.answer(command["id"], {"wasState": was} if problem is None else {"problem": problem})

    def _signal(self, project, jobid, name):
        orphan = self._orphans.get((project, jobid))
        if orphan is None:
            return "running" if self._host.signal(project, jobid, name) else None
        pid, started = orphan
        if processes.start_of(pid) != started:
            return None
        processes.send_signal(pid, name)
        return "running"

    def _end_waiting(self, project, jobid, why):
        row = self._journal.find(project, jobid)
        if row is None or row["state"] != journal.GRANTED:
            return False
        is_ended = self._journal.end(project, jobid, now_text(), note=why)
        self._send.lists()
        return is_ended

    def _on_spawned(self, project, jobid, pid, at):
        self._journal.running(project, jobid, pid, processes.start_of(pid), at)
        self._send.lists()

    def _on_not_spawned(self, project, jobid, why):
        row = self._journal.find(project, jobid)
        if row is not None:
            self._host.write_log(project, row["spider"], jobid, f"Scrapyd could not start the spider: {why}")
        self._journal.end(project, jobid, now_text(), exit_code=1, note=why)
        self._send.lists()

    def _on_ended(self, project, jobid, exit_code, exit_signal, at):
        self._journal.end(project, jobid, at, exit_code, exit_signal)
        self._send.lists()

    def _watch_orphans(self):
        for names, (pid, started) in list(self._orphans.items()):
            if processes.start_of(pid) != started:
                del self._orphans[names]
                self._journal.end(*names, now_text())
                self._send.lists()

    def _start_waiting(self):
        free = self._host.free_slots() - len(self._orphans)
        if free <= 0:
            return
        waiting = sorted(self._journal.list(journal.GRANTED), key=lambda row: (-row["priority"], row["place"]))
        for row in waiting[:free]:
            # On disk before there is a process: after a crash, search for it before starting it again.
            if self._journal.start(row["project"], row["jobid"], self._boot):
                self._host.start(json.loads(row["offer"]))

    # send

    def _send_loop(self):
        transport = self._transport()
        delay = 0
        while not self._stopped.is_set():
            self._send.wait(delay if delay > 0 else None)
            session = self._session
            if self._stopped.is_set():
                return
            if session is None:
                delay = 0.2
                continue
            try:
                delay = self._send_everything(transport, session)
            except Refused as error:
                if error.code in ("NODE_SESSION_UNKNOWN", "NODE_SESSION_SUPERSEDED"):
                    # The next poll learns it too and opens another session, which begins with claims and lists.
                    delay = 0.2
                else:
                    delay = next_delay(max(delay, 1))
            except Unreachable:
                delay = next_delay(delay)

    def _send_everything(self, transport, session):
        """Returns the seconds until there is more to send; 0: when something happens."""
        delay = 0
        for kind, body in self._send.each_message():
            try:
                transport.post(kind, session.stamp(**body), REQUEST_SECONDS)
            except Refused as error:
                if error.code.startswith("NODE_SESSION") or error.status in (401, 429):
                    raise
                self._log(f"Scrapdeck refuses an answer of this node: {error}")
            self._send.sent()
        if self._send.take_claim():
            try:
                delay = self._claim(transport, session)
            except BaseException:
                self._send.claim()
                raise
        through = self._send.take_lists()
        if through is not None:
            try:
                transport.post("lists", session.stamp(through=through, **self._lists()), REQUEST_SECONDS)
            except BaseException:
                self._send.lists(through)
                raise
        return delay

    def _claim(self, transport, session):
        rows = [
            row for row in self._journal.list(journal.OFFERED) if (row["project"], row["jobid"]) in self._fetched
        ][:500]
        if not rows:
            return 0
        if self._journal.count_unacked() > UNACKED_MAX:
            self._send.claim()
            return 5
        runs = [{"project": row["project"], "jobid": row["jobid"]} for row in rows]
        answer = transport.post("claim", session.stamp(runs=runs), REQUEST_SECONDS)
        verdicts = answer["verdicts"]
        for row, verdict in zip(rows, verdicts):
            if verdict in ("granted", "gone"):
                self._work.put(("claimed", row["project"], row["jobid"], verdict))
        if "wait" not in verdicts:
            return 0
        self._send.claim()
        return 0.5

    def _lists(self):
        def run_of(row):
            return {
                "project": row["project"],
                "jobid": row["jobid"],
                "spider": row["spider"],
                "pid": row["pid"],
                "startTime": row["start_time"],
                "endTime": row["end_time"],
                "exitCode": row["exit_code"],
                "exitSignal": row["exit_signal"],
                "isAcked": bool(row["acked"]),
            }

        def rows_of(*states):
            return [run_of(row) for row in self._journal.list(*states)]

        # Read from the first state to the last: a run that moves meanwhile is in two lists, never in none.
        claiming = rows_of(journal.OFFERED)
        pending = rows_of(journal.GRANTED, journal.STARTING)
        running = rows_of(journal.RUNNING)
        finished = [run_of(row) for row in self._journal.list_ended(ACKED_LISTED)]
        later = {(run["project"], run["jobid"]) for run in finished}
        running = [run for run in running if (run["project"], run["jobid"]) not in later]
        later |= {(run["project"], run["jobid"]) for run in running}
        pending = [run for run in pending if (run["project"], run["jobid"]) not in later]
        later |= {(run["project"], run["jobid"]) for run in pending}
        claiming = [run for run in claiming if (run["project"], run["jobid"]) not in later]
        return {"claiming": claiming, "pending": pending, "running": running, "finished": finished, "status": self._status()}

    # eggs

    def _eggs_loop(self):
        transport = self._transport()
        while not self._stopped.is_set():
            offer = self._egg_jobs.get()
            egg = offer.get("egg")
            delay = 0
            while not self._stopped.wait(delay):
                row = self._journal.find(offer["project"], offer["jobid"])
                session = self._session
                if row is None or row["state"] != journal.OFFERED:
                    break
                if session is None:
                    delay = 0.5
                    continue
                path = f"eggs/{egg['sha256']}?session={session.id}&epoch={session.epoch}"
                try:
                    self._eggs.fetch(
                        offer["project"],
                        offer["version"],
                        egg,
                        lambda write, path=path: transport.download(path, 60, write),
                    )
                    self._host.egg_arrived(offer["project"])
                    self._work.put(("fetched", offer))
                    break
                except Unreachable:
                    delay = next_delay(delay)
                except BadEgg as error:
                    # Cut off by a proxy, most likely.
                    delay = next_delay(max(delay, 1))
                    self._log(f"the egg of {offer['project']} arrived damaged: {error}")
                except Refused as error:
                    if error.code.startswith("NODE_SESSION"):
                        delay = 0.5
                        continue
                    self._work.put(("unfetched", offer, "unknown_version", str(error)))
                    break
                except OSError as error:
                    self._work.put(("unfetched", offer, "other", f"the egg could not be stored: {error}"))
                    break

    # files

    def _files_loop(self):
        transport = self._transport()
        while not self._stopped.is_set():
            command = self._file_jobs.get()
            session = self._session
            if session is None:
                continue
            for delay in (0.1, 0.3, 1):
                try:
                    self._send_file(transport, session, command)
                    break
                except Refused:
                    break
                except Unreachable:
                    # After the last try, Scrapdeck asks again.
                    time.sleep(delay)

    def _send_file(self, transport, session, command):
        where = f"data?session={session.id}&epoch={session.epoch}&id={command['id']}"
        try:
            names = (command[name] for name in ("file", "project", "spider", "jobid"))
            with self._host.open_file(*names) as file:
                status = os.fstat(file.fileno())
                size = status.st_size
                offset = command["offset"]
                offset = max(0, size + offset) if offset < 0 else offset
                file.seek(offset)
                limit = max(0, min(command["limitBytes"], FILE_BYTES_MAX, size - offset))
                data = file.read(limit)
            where += f"&offset={offset}&size={size}&file={status.st_dev:x}-{status.st_ino:x}"
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            data, where = b"", where + "&none=1"
        except OSError as error:
            self._send.answer(command["id"], {"problem": str(error)})
            return
        transport.post(where, data, 60)

    def _transport(self):
        transport = Transport(self._settings)
        self._transports.append(transport)
        return transport

    def _guarded(self, loop):
        """A bug that ended the thread would leave the node silent: log it, and continue."""
        while not self._stopped.is_set():
            try:
                loop()
            except Exception as error:  # noqa: BLE001
                if self._stopped.is_set():
                    return
                self._log(f"unexpected error, going on: {error!r}\n{traceback.format_exc()}")
                time.sleep(1)


class SendState:
    """What to send. Counted, and kept until it is answered."""

    def __init__(self):
        self._condition = threading.Condition()
        self._claim = False
        self._through = None
        self._messages = []

    def claim(self):
        with self._condition:
            self._claim = True
            self._condition.notify()

    def lists(self, through=0):
        with self._condition:
            self._through = max(self._through or 0, through)
            self._condition.notify()

    def answer(self, id_, body):
        self._add("answer", {"id": id_, **body})

    def refuse(self, offer, kind, why):
        self._add("refuse", {"project": offer["project"], "jobid": offer["jobid"], "reason": kind, "message": why[:2000]})

    def wake(self):
        with self._condition:
            self._condition.notify()

    def wait(self, seconds):
        """Waits until there is something to send; with `seconds`, for that long in any case."""
        with self._condition:
            if seconds is not None:
                self._condition.wait_for(lambda: bool(self._messages), seconds)
            else:
                self._condition.wait_for(self._has_any, 1)

    def each_message(self):
        while True:
            with self._condition:
                if not self._messages:
                    return
                message = self._messages[0]
            yield message

    def sent(self):
        with self._condition:
            self._messages.pop(0)

    def take_claim(self):
        with self._condition:
            taken, self._claim = self._claim, False
            return taken

    def take_lists(self):
        with self._condition:
            taken, self._through = self._through, None
            return taken

    def _add(self, kind, body):
        with self._condition:
            # More answers than Scrapdeck can wait for: it asks again.
            if len(self._messages) < 1000:
                self._messages.append((kind, body))
            self._condition.notify()

    def _has_any(self):
        return self._claim or self._through is not None or bool(self._messages)


def next_delay(delay):
    return min(10, max(0.2, delay * 2)) * (0.75 + random.random() / 2)


def now_text():
    """As Scrapyd writes it: local time, without a zone."""
    return str(datetime.now())

"""Scrapyd as the client sees it. What touches Scrapyd runs in the reactor's thread, and nothing there waits."""

import threading

from scrapyd import __version__ as scrapyd_version
from scrapyd.interfaces import IPoller, ISpiderScheduler
from twisted.internet import reactor
from twisted.internet.error import ProcessExitedAlready

from scrapdeck_node import current, journal
from scrapdeck_node.environment import VARIABLES
from scrapdeck_node.spiderqueue import message_of

# Longer than any turn of the reactor should take.
REACTOR_SECONDS = 10


class ScrapydHost:
    scrapyd_version = str(scrapyd_version)

    def __init__(self, app, launcher, eggs, files, journal_, log):
        self._app = app
        self._launcher = launcher
        self._eggs = eggs
        self._files = files
        self._journal = journal_
        self._log = log
        self._lock = threading.Lock()
        # Runs on their way to the reactor, which already take a slot.
        self._on_their_way = 0
        self.slots = launcher.max_proc

    def free_slots(self):
        with self._lock:
            return len(self._poller.waiting) - self._on_their_way

    def start(self, offer):
        with self._lock:
            self._on_their_way += 1
        reactor.callFromThread(self._start, offer)

    def signal(self, project, jobid, name):
        """Whether there was such a process."""
        done = threading.Event()
        result = {}

        def send():
            try:
                for process in list(self._launcher.processes.values()):
                    if (process.project, process.job) == (project, jobid):
                        process.transport.signalProcess(int(name) if str(name).isdigit() else name)
                        result["found"] = True
            except ProcessExitedAlready:
                result["error"] = ProcessLookupError("it has ended")
            except Exception as error:  # noqa: BLE001
                result["error"] = error
            done.set()

        reactor.callFromThread(send)
        if not done.wait(REACTOR_SECONDS):
            raise OSError("Scrapyd is too busy to send a signal")
        if isinstance(result.get("error"), ProcessLookupError):
            raise result["error"]
        if "error" in result:
            raise OSError(str(result["error"]))
        return result.get("found", False)

    def path_of(self, kind, project, spider, jobid):
        return self._files.path_of(kind, project, spider, jobid)

    def open_file(self, kind, project, spider, jobid):
        return self._files.open(kind, project, spider, jobid)

    def write_log(self, project, spider, jobid, text):
        """For a run that wrote none itself, so that the reason is where users look."""
        path = self.path_of("log", project, spider, jobid)
        try:
            if path is not None:
                with open(path, "x", encoding="utf-8") as file:
                    file.write(text + "\n")
        except OSError:
            pass

    def prune_files(self):
        live = self._journal.list(journal.GRANTED, journal.STARTING, journal.RUNNING)
        ended = [row for row in self._journal.list_ended(0) if not row["acked"]]
        needed = {(row["project"], row["jobid"]) for row in [*live, *ended]}
        # Where Scrapyd starts runs: it reads the age of each log of the spider first, and one that vanishes meanwhile
        # fails the start.
        reactor.callFromThread(self._files.prune, needed)

    def egg_arrived(self, project):
        if project not in self._poller.queues:
            reactor.callFromThread(self._update_projects)

    def slot_is_free(self):
        if current.client is not None:
            current.client.slots_changed()

    @property
    def _poller(self):
        return self._app.getComponent(IPoller)

    def _update_projects(self):
        self._poller.update_projects()
        self._app.getComponent(ISpiderScheduler).update_projects()

    def _start(self, offer):
        project, jobid = offer["project"], offer["jobid"]
        with self._lock:
            self._on_their_way -= 1
            deferred = self._poller.waiting.pop(0)
        message = message_of(offer)
        message["_project"] = project
        message["_spider"] = message.pop("name")
        egg = self._eggs.path_of(project, offer["version"], offer["egg"]["sha256"])
        message[VARIABLES] = {
            **offer.get("env", {}),
            "SCRAPDECK_EGG": egg or "",
            "SCRAPDECK_EGG_VERSION": offer["version"],
        }
        problem = []
        slot = slot_of(deferred)
        deferred.addErrback(problem.append)
        # The launcher spawns the process within this call.
        deferred.callback(message)
        for process in self._launcher.processes.values():
            if (process.project, process.job) == (project, jobid) and process.pid:
                current.client.spawned(project, jobid, process.pid)
                return
        why = problem[0].getErrorMessage() if problem else "no process was created"
        self._log(f"the job {jobid} could not be started: {why}")
        current.client.not_spawned(project, jobid, why)
        self._wait_again(slot)

    def _wait_again(self, slot):
        """Scrapyd loses the slot of a start that fails."""
        wait = getattr(self._launcher, "_get_message", None) or getattr(self._launcher, "_wait_for_project", None)
        if slot is not None and wait is not None and slot not in self._launcher.processes:
            wait(slot)


def slot_of(deferred):
    try:
        return deferred.callbacks[0][0][1][0]
    except (AttributeError, IndexError, TypeError):
        return None

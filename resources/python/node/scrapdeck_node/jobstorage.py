"""`jobstorage = scrapdeck_node.jobstorage.PullJobStorage`: Scrapyd's own, and the ends go to Scrapdeck as well."""

import os
import signal

from scrapyd.jobstorage import SqliteJobStorage

from scrapdeck_node import current


class PullJobStorage(SqliteJobStorage):
    def add(self, job):
        exit_code, exit_signal = exit_of(job)
        # First, so that the end is not lost if Scrapyd's own table fails.
        if current.client is not None:
            current.client.ended(job.project, job.job, exit_code, exit_signal)
        super().add(job)


def exit_of(job):
    """Scrapyd does not keep how a process ended; Twisted's transport does, as wait() reported it."""
    status = getattr(getattr(job, "transport", None), "status", None)
    if not isinstance(status, int) or status < 0:
        return None, None
    if os.name == "nt":
        return status, None
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return None, signal.Signals(number).name
        except ValueError:
            return None, f"signal {number}"
    return os.WEXITSTATUS(status), None

"""Parked processes: a supervisor and its spider that warm.py forks before there is a run for them.

Half of a warm start is the copying of memory: a fork shares its parent's pages until it writes to them, and Python
writes to a page when it only counts a reference there. A parked process has already copied those that a crawl writes
to, and nothing else distinguishes it from one that was forked for its run: it has loaded nothing of a project, and gets
environment, folder, files, chance and time when it gets its run (warm.py, `become_spider`, `begin_here`). Which pages
these are is seen in a dry crawl in a fork. A run needs no more memory for it: it would copy them itself.
"""

import array
import json
import os

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
# proc(5), /proc/PID/pagemap; madvise(2), since Linux 5.14.
IS_PRESENT, IS_EXCLUSIVE = 1 << 63, 1 << 56
MADV_POPULATE_WRITE = 23


class Parked:
    """What a parent knows of its parked processes."""

    def __init__(self):
        # How many there should be. A start uses up one: the engine asks for the next when the CPU is less busy.
        self.wanted = 0
        # pid of a supervisor -> the descriptor through which it is handed its run
        self.handovers = {}
        # What to copy; None: not known yet.
        self.pages = None
        # Where the dry crawl reports its pages while it is running.
        self.scout = None

    def needs_scout(self):
        return self.wanted > 0 and self.pages is None and self.scout is None

    def end_scouting(self):
        try:
            with os.fdopen(self.scout) as file:
                pages = json.load(file)
        except ValueError:
            pages = "it was killed"
        # Without them, the parked ones are at least forked already.
        self.pages = [] if isinstance(pages, str) else pages
        self.scout = None

    def is_short(self):
        return self.pages is not None and len(self.handovers) < self.wanted

    def fork(self):
        """Forks one. In it: the descriptor from which it gets its run; in the parent: None."""
        reading, writing = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            # No memory or no process left for what is only faster: not before it is asked for again.
            pid, self.wanted = -1, 0
        if pid == 0:
            os.close(writing)
            return reading
        os.close(reading)
        if pid > 0:
            self.handovers[pid] = writing
        else:
            os.close(writing)
        return None

    def hand_over(self, line):
        """The pid of the supervisor that got the request, the one parked longest; None: there is none."""
        self.wanted = max(0, self.wanted - 1)
        while self.handovers:
            pid = next(iter(self.handovers))
            try:
                write_all(self.handovers[pid], line + b"\n")
                return pid
            except OSError:
                pass  # It has ended, and cannot have read a whole line.
            finally:
                self.forget(pid)
        return None

    def end_surplus(self):
        """Ends those that are no longer wanted, and returns their pids."""
        surplus = list(self.handovers)[self.wanted :]
        for pid in surplus:
            self.forget(pid)
        return surplus

    def forget(self, pid):
        """It has got its run, or has ended, or ends now: it does when the last descriptor is closed."""
        if pid in self.handovers:
            os.close(self.handovers.pop(pid))

    def close(self):
        """In a fork: what others are parked is the parent's affair."""
        for pid in list(self.handovers):
            self.forget(pid)
        if self.scout is not None:
            os.close(self.scout)


def watch_pages():
    """Returns a function that returns what this process has copied of its present private memory by then, as
    [first page, number of pages]."""
    ranges = []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            addresses, permissions, _, _, _, *name = line.split()
            if permissions == "rw-p" and name != ["[stack]"]:
                ranges.append([int(address, 16) // PAGE_BYTES for address in addresses.split("-")])
    return lambda: list(copied_pages(ranges))


def copied_pages(ranges):
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        for start, end in ranges:
            entries = array.array("Q", os.pread(pagemap.fileno(), (end - start) * 8, start * 8))
            first = None
            for page, entry in enumerate(entries, start):
                if entry & IS_PRESENT and entry & IS_EXCLUSIVE:
                    if first is None:
                        first = page
                elif first is not None:
                    yield [first, page - first]
                    first = None
            if first is not None:
                yield [first, start + len(entries) - first]


def copy_pages(pages):
    """Copies what this process still shares with its parent of these pages."""
    if not pages:
        return
    import ctypes

    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for first, count in pages:
        # Refused by an older kernel, or for memory that the parent has given back: the run copies them itself.
        madvise(first * PAGE_BYTES, count * PAGE_BYTES, MADV_POPULATE_WRITE)


def write_all(descriptor, content):
    while content:
        content = content[os.write(descriptor, content) :]

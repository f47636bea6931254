"""Logs and items of runs: where they are, and which may go."""

import os
import stat

# Windows has neither links that need it nor pipes with names.
READ_AT_ONCE = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

PARTS_FORBIDDEN = ("", ".", "..")


class RunFiles:
    def __init__(self, logs_directory, items_directory, keep):
        self._directories = {"log": (logs_directory, "log"), "items": (items_directory, "jl")}
        self._keep = keep

    def path_of(self, kind, project, spider, jobid):
        directory, extension = self._directories.get(kind, (None, ""))
        parts = (project, spider, jobid)
        if directory is None or any(not is_plain(part) for part in parts):
            return None
        return os.path.join(directory, project, spider, f"{jobid}.{extension}")

    def open(self, kind, project, spider, jobid):
        """Raises FileNotFoundError also if a spider has replaced its file with a link or a pipe."""
        path = self.path_of(kind, project, spider, jobid)
        if path is None:
            raise FileNotFoundError
        top = os.path.realpath(self._directories[kind][0])
        if os.path.realpath(path) != os.path.join(top, project, spider, os.path.basename(path)):
            raise FileNotFoundError
        descriptor = os.open(path, READ_AT_ONCE)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FileNotFoundError
        return os.fdopen(descriptor, "rb")

    def prune(self, needed):
        """Keeps, of each spider, the newest files and those of runs in `needed` ((project, jobid))."""
        for directory, extension in self._directories.values():
            if directory is None:
                continue
            for project in subdirectories(directory):
                for spider in subdirectories(os.path.join(directory, project)):
                    self._prune_one(os.path.join(directory, project, spider), project, extension, needed)

    def _prune_one(self, parent, project, extension, needed):
        dated = []
        for entry in os.scandir(parent):
            try:
                if entry.is_file(follow_symlinks=False):
                    dated.append((entry.stat().st_mtime, entry.name))
            except OSError:
                continue
        for _, name in sorted(dated, reverse=True)[self._keep :]:
            if (project, name.rpartition("." + extension)[0]) in needed:
                continue
            try:
                os.remove(os.path.join(parent, name))
            except OSError:
                continue


def is_plain(part):
    return part not in PARTS_FORBIDDEN and not any(char in part for char in "/\\\0") and len(part) <= 250


def subdirectories(directory):
    try:
        return [entry.name for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []

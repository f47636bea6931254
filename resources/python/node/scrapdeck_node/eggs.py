"""Eggs by their checksum: fetched once, and kept while they may be needed."""

import hashlib
import os
import re
import shutil
import time
from urllib.parse import quote, unquote

KEPT = 50
EGG_BYTES_MAX = 512 * 1024 * 1024


class BadEgg(Exception):
    """The received egg is not the announced one."""


class EggCache:
    """`eggs/PROJECT/VERSION/SHA256/NAME-VERSION.egg`: an egg never changes under a running spider."""

    def __init__(self, state_directory):
        self._root = os.path.join(state_directory, "eggs")

    def path_of(self, project, version, sha256):
        """None: the egg is not here."""
        path = self._place(project, version, sha256)
        return path if os.path.exists(path) else None

    def fetch(self, project, version, egg, download):
        """`download` passes the egg's bytes to its argument. Raises BadEgg, OSError or what `download` raises."""
        sha256 = str(egg["sha256"])
        if not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise BadEgg("its checksum is none")
        place = self._place(project, version, sha256)
        if os.path.exists(place):
            os.utime(place)
            return place
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        part = place + ".part"
        digest, limit = hashlib.sha256(), min(int(egg["sizeBytes"]), EGG_BYTES_MAX)
        length = 0
        with open(part, "wb") as file:

            def write(piece):
                nonlocal length
                length += len(piece)
                if length > limit:
                    raise BadEgg("it is longer than announced")
                digest.update(piece)
                file.write(piece)

            download(write)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != sha256:
            os.remove(part)
            raise BadEgg("its checksum is wrong")
        os.replace(part, place)
        return place

    def projects(self):
        return sorted(name_of(name) for name in names_in(self._root))

    def versions(self, project):
        """The most recently used egg comes last."""
        parent = os.path.join(self._root, folder_of(project))
        dated = [(modified(os.path.join(parent, name)), name_of(name)) for name in names_in(parent)]
        return [name for _, name in sorted(dated)]

    def newest(self, project, version):
        parent = os.path.join(self._root, folder_of(project), folder_of(version))
        found = [self._place(project, version, sha256) for sha256 in names_in(parent)]
        found = [path for path in found if os.path.exists(path)]
        return max(found, key=modified, default=None)

    def delete(self, project, version=None):
        parent = os.path.join(self._root, folder_of(project))
        target = parent if version is None else os.path.join(parent, folder_of(version))
        shutil.rmtree(target, ignore_errors=True)

    def prune(self, needed):
        """Deletes all but the newest, and those whose checksum is in `needed`."""
        found = []
        for directory, _, names in os.walk(self._root):
            if any(name.endswith(".egg") for name in names):
                found.append((max(modified(os.path.join(directory, name)) for name in names), directory))
        for _, directory in sorted(found, reverse=True)[KEPT:]:
            if os.path.basename(directory) not in needed:
                shutil.rmtree(directory, ignore_errors=True)

    def _place(self, project, version, sha256):
        # pkg_resources and importlib.metadata read the distribution's name from the file's.
        safe = lambda text: re.sub(r"[^A-Za-z0-9_.]", "_", text)[:100]  # noqa: E731
        directory = os.path.join(self._root, folder_of(project), folder_of(version), sha256)
        return os.path.join(directory, f"{safe(project)}-{safe(version)}.egg")


def folder_of(name):
    """Never `..`, for any name."""
    return "=" + quote(name, safe="")


def name_of(folder):
    return unquote(folder[1:])


def names_in(directory):
    try:
        return os.listdir(directory)
    except OSError:
        return []


def modified(path):
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()

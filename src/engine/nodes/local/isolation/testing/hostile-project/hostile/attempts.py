"""What a hostile project tries. Each function returns something only if it got what it should not."""

import ctypes
import fcntl
import os
import re
import socket
import stat
import termios

PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17


def read(path):
    with open(path, "rb") as file:
        return len(file.read(64)) > 0


def write(path):
    with open(path, "ab"):
        return True


def make_file_in(directory):
    path = os.path.join(directory, "planted.pth")
    with open(path, "w"):
        pass
    os.unlink(path)
    return True


def list_directory(path, name):
    return name in os.listdir(path)


def read_environment(pid):
    with open("/proc/%s/environ" % pid, "rb") as file:
        return b"=" in file.read()


def list_open_files(pid):
    return any(os.readlink("/proc/%s/fd/%s" % (pid, name)) for name in os.listdir("/proc/%s/fd" % pid))


def read_through(pid, path="/etc/shadow"):
    """By the root directory of another process."""
    return pid > 0 and read("/proc/%s/root%s" % (pid, path))


def read_disk():
    """By a device of our own for each disk of the machine."""
    with open("/proc/partitions", encoding="ascii") as file:
        numbers = [line.split()[:2] for line in file.readlines()[2:]]
    for major, minor in numbers:
        path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "disk-%s-%s-%d" % (major, minor, os.getpid()))
        os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(int(major), int(minor)))
        try:
            if read(path):
                return True
        finally:
            os.unlink(path)
    return False


def type_into_terminal():
    """As if the operator had typed it."""
    with open("/dev/tty", "w") as terminal:
        fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
    return True


def signal_process(pid):
    if pid <= 0:
        return False
    os.kill(pid, 0)
    return True


def trace(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if pid <= 0 or libc.ptrace(PTRACE_SEIZE, pid, 0, 0) != 0:
        return False
    libc.ptrace(PTRACE_DETACH, pid, 0, 0)
    return True


def connect(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
    return True


def plant_link(path, target):
    """In the place of a file of the run, for the engine to read."""
    beside = path + ".moved"
    os.rename(path, beside)
    try:
        os.symlink(target, path)
        return True
    finally:
        if os.path.islink(path):
            os.unlink(path)
        os.rename(beside, path)


def link_hard(path, target):
    os.link(target, path + ".hard")
    os.unlink(path + ".hard")
    return True


def make_root():
    os.setuid(0)
    os.seteuid(0)
    # Root of namespaces of its own is not the machine's.
    return os.geteuid() == 0 and read("/etc/shadow")


def find_in_environment(name):
    return name in os.environ


def find_in_memory(pattern):
    """`pattern`: reversed, so that it is not found only because it was looked for."""
    wanted = pattern[::-1].encode()
    with open("/proc/self/maps", encoding="utf-8") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps:
            area = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if area is None:
                continue
            start, end = (int(one, 16) for one in area.groups())
            try:
                memory.seek(start)
                text = memory.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue
            # Our own copy of what we look for is one of them.
            if text.count(wanted + b"!") > 0:
                return True
    return False


def inherit_descriptors(directory, own):
    """Besides its output and its code."""
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue
        if path.startswith(directory) and not path.startswith(own):
            return True
    return False


def attempt(name, arguments):
    try:
        return bool(globals()[name](*arguments))
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


def ancestors():
    """Our parent, and its parent, as far as we see them."""
    pid = os.getppid()
    with open("/proc/%d/stat" % pid, encoding="latin-1") as file:
        return [pid, int(file.read().rpartition(")")[2].split()[1])]

"""
What the Scrapyds of tests start for each spider and each list of spiders, by their setting `runner`: scrapyd.runner as it
is, but in a fork of a Python that has imported Scrapy. To import it is most of what a spider of a test costs.

    python -m forking_runner crawl …   started by Scrapyd: has one forked and gives it its own arguments, environment,
                                       directory and streams; passes signals on and ends as it ends. Where it is killed,
                                       so is the fork
    python -m forking_runner           the parent, until its stdin ends; FORKING_RUNNER names its socket (an abstract one)

    parent ──fork──> keeper (tells the pid and the end) ──fork──> the spider

What is not in FORKED (crawl, list), and all where there is no parent, is scrapyd.runner itself, started cold.
"""
import gc
import json
import os
import signal
import socket
import struct
import sys

PASSED_ON = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2]
RUNNER = "scrapyd.runner"


def main():
    address = "\0" + os.environ.pop("FORKING_RUNNER")
    if len(sys.argv) > 1:
        forked = os.environ.pop("FORKED").split(",")
        forget_our_path()
        if sys.argv[1] in forked:
            run_forked(address)
        os.execv(sys.executable, [sys.executable, "-m", RUNNER, *sys.argv[1:]])
    become(*keep(serve(address)))
    import runpy

    runpy.run_module(RUNNER, run_name="__main__", alter_sys=True)


def forget_our_path():
    paths = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path != os.path.dirname(__file__))


def run_forked(address):
    """Ends as the fork ends; returns where there is no parent."""
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(address)
            request = json.dumps({"argv": sys.argv[1:], "environ": dict(os.environ), "cwd": os.getcwd()}).encode()
            socket.send_fds(server, [struct.pack("!I", len(request))], [0, 1, 2])
            server.sendall(request)
            answers = server.makefile()
            pid = int(answers.readline())
            for number in PASSED_ON:
                signal.signal(number, lambda given, _frame: pass_on(pid, given))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
            end_with(int(answers.readline()))
    except (OSError, ValueError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)


def pass_on(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def end_with(code):
    """As `os.waitstatus_to_exitcode` says it: negative is a signal."""
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def serve(address):
    """For ever; returns in each keeper, with the connection to who asked for it."""
    import select

    listener = socket.socket(socket.AF_UNIX)
    # Clients that connect during the import of Scrapy wait for it.
    listener.bind(address)
    listener.listen(64)
    gc.disable()
    import_scrapy()
    gc.collect()
    gc.freeze()
    # Nothing waits for keepers.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        readable, _, _ = select.select([listener, 0], [], [])
        if 0 in readable:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return connection
        connection.close()


def import_scrapy():
    """What a crawl imports before anything of its project, but never a reactor: it belongs to one process."""
    import importlib

    import scrapy.cmdline
    import scrapy.commands.crawl
    import scrapy.commands.list
    import scrapy.crawler
    from scrapy.settings import default_settings

    importlib.import_module(RUNNER)
    # It runs as __main__ in each fork.
    del sys.modules[RUNNER]
    for name in vars(default_settings):
        value = getattr(default_settings, name)
        words = [*value.keys(), *value.values()] if isinstance(value, dict) else [value]
        for word in words:
            if isinstance(word, str) and word.startswith("scrapy.") and not brings_reactor(word):
                importlib.import_module(word.rpartition(".")[0])
    if "twisted.internet.reactor" in sys.modules:
        os._exit(1)


def brings_reactor(name):
    import scrapy

    return scrapy.version_info < (2, 8) and (".ftp." in name or ".telnet." in name)


def keep(connection):
    """Stands over a fork until it has ended; returns in the fork, with what it is to become."""
    import select

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    (length,) = struct.unpack("!I", head)
    request = json.loads(connection.makefile("rb").read(length))
    pid = os.fork()
    if pid == 0:
        return request, streams
    for stream in streams:
        os.close(stream)
    connection.sendall(b"%d\n" % pid)
    ended = os.pidfd_open(pid)
    readable, _, _ = select.select([ended, connection], [], [])
    if ended not in readable:
        # The process that represents it to Scrapyd was killed.
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    try:
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    except OSError:
        pass
    os._exit(0)


def become(request, streams):
    """Makes the fork what `python -m scrapyd.runner` would be."""
    import random
    import time

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 4096)
    ours = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request["cwd"])
    time.tzset()
    random.seed()
    theirs = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [request["cwd"], *theirs, *[path for path in sys.path[1:] if path not in ours]]
    sys.argv = [RUNNER, *request["argv"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = open(number, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    gc.enable()


main()

"""Keeps a spider apart from Scrapdeck and from other projects: as the Unix user of its project, in a sandbox, or both.

launch.json has how, as "isolation" (src/engine/nodes/local/runs/launch-plan.ts; isolation-plan.ts fills it in); null: spiders run as Scrapdeck does.

    user       the user and group id of the project; null: ours
    group      the only other group of the process: directories on the way to its files let it pass
    readable   files of ours that the user may read: path -> the copy that is made of it for this run
    passable   directories of ours that lead to what is the user's
    private    directories that belong to the user
    files      what the run writes, created here: no directory above them is the user's, so that nothing else can take
               the place of one, and a link never leads anybody who reads them elsewhere
    sandbox    a bwrap command that prepares the namespaces and waits in them; null: none
    temporary  an empty directory for the run, removed at its end

supervisor (ours) -- fork --> gate (enters the namespaces, waits) -- fork --> the spider (theirs)

Only the spider runs code of a project. Without a sandbox there is no gate. A step that fails ends the start: nothing
ever runs less apart than it was asked to. Linux only.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x08000000, 0x10000000, 0x20000000
JOINED = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522
LAST_DESCRIPTOR = 65536
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def prepare(apart, directory):
    """Makes what the run may write, and copies what only its user may read. As the supervisor, before the spider."""
    user = apart["user"]
    if user is not None:
        # The user may pass through, but neither list nor write.
        os.chown(directory, -1, user)
        os.chmod(directory, 0o710)
    for path in apart["passable"]:
        pass_through(path, user)
    for path in apart["private"]:
        os.makedirs(path, mode=0o700, exist_ok=True)
        if user is not None and os.lstat(path).st_uid != user:
            os.chown(path, user, user, follow_symlinks=False)
    for path in apart["files"]:
        create(path, user)
    for source, copy in apart["readable"].items():
        copy_for(source, copy, user)
    if apart["temporary"] is not None:
        os.mkdir(apart["temporary"], 0o700)
        if user is not None:
            os.chown(apart["temporary"], user, user)


def pass_through(path, user):
    """A directory of ours on the path to files of one project: other users cannot pass."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    if user is None:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | NO_FOLLOW)
    try:
        os.fchown(descriptor, os.geteuid(), user)
        os.fchmod(descriptor, 0o710)
    finally:
        os.close(descriptor)


def create(path, user):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | NO_FOLLOW, 0o600)
    try:
        if user is not None:
            os.fchown(descriptor, user, user)
    finally:
        os.close(descriptor)


def copy_for(source, copy, user):
    with open(source, "rb") as original:
        with open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "wb") as file:
            shutil.copyfileobj(original, file)
            if user is not None:
                os.fchown(file.fileno(), -1, user)


def clear(apart):
    """At the end of a run, when none of its processes is left. What it wrote is ours again: another run of its project
    cannot change it."""
    if apart["user"] is not None:
        for path in apart["files"]:
            try:
                descriptor = os.open(path, os.O_RDONLY | NO_FOLLOW)
            except OSError:
                continue
            try:
                os.fchown(descriptor, os.geteuid(), os.getegid())
                os.fchmod(descriptor, 0o600)
            finally:
                os.close(descriptor)
    if apart["temporary"] is not None:
        # Never follows a link, even if a directory is replaced meanwhile.
        shutil.rmtree(apart["temporary"], ignore_errors=True)


class Sandbox:
    """The namespaces of one run. They end, with every process in them, when this object is closed or we end."""

    def __init__(self, apart):
        self.process = None
        self.inner = 0
        if apart["sandbox"] is None:
            return
        reading, writing = os.pipe()
        try:
            self.process = subprocess.Popen(
                apart["sandbox"],
                env={},
                stdin=subprocess.PIPE,
                stdout=writing,
                stderr=subprocess.PIPE,
                close_fds=True,
                start_new_session=True,
                **as_user(apart),
            )
        finally:
            os.close(writing)
        self.reading = reading

    def wait(self):
        """Until the namespaces are ready. Returns the pid of the process that waits in them, as we see it; 0: none."""
        if self.process is None:
            return 0
        with os.fdopen(self.reading, "rb") as answer:
            is_ready = answer.readline() != b""
        if not is_ready:
            reason = self.process.stderr.read(4096).decode("utf-8", "replace").strip()
            raise OSError("The sandbox could not be made (%s)" % (reason or "bwrap ended without a message"))
        # bwrap, its process 1 in the namespaces, and in there the process that waits.
        self.inner = only_child(only_child(self.process.pid))
        return self.inner

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.kill()


def as_user(apart):
    """How bwrap itself is started. Its namespaces belong to the user who makes them, who then may enter them."""
    if apart["user"] is None:
        return {}
    user = apart["user"]
    return {"user": user, "group": user, "extra_groups": [apart["group"]]}


def only_child(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            found = [int(word) for word in file.read().split()]
    except OSError:
        from supervisor import children_of

        found = children_of(pid)
    if not found:
        raise OSError("The sandbox ended")
    return found[0]


def enter(apart, inner, directory, kept=()):
    """Called in the process of a spider, before any code of its project. Returns in the process that goes on as the
    spider, in `directory`, without any right that Scrapdeck has and without its open files, except `kept`."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = (ctypes.c_int,) + (ctypes.c_ulong,) * 4
    namespaces = os.pidfd_open(inner) if inner else None
    close_others({*kept, namespaces} - {None})
    os.umask(0o077)
    if apart["user"] is not None:
        user = apart["user"]
        os.setgroups([apart["group"]])
        drop_bounding_set(libc)
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    if inner:
        demand(libc.setns(namespaces, JOINED), "The sandbox could not be entered")
        os.close(namespaces)
        gate()
    drop_bounding_set(libc)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    demand(libc.capset(header, (ctypes.c_uint32 * 6)()), "The rights of the spider could not be dropped")
    demand(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "The rights of the spider could not be dropped")
    # Changing the user made /proc/self ours. This process holds no other user's secrets.
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    os.chdir(directory)


def close_others(kept):
    start = 3
    for descriptor in sorted(kept):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, LAST_DESCRIPTOR)


def gate():
    """Returns in a child, which is in the new pid namespace. Here it waits for it, and ends as it did."""
    every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, every)
    spider = os.fork()
    if spider == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return
    os.closerange(0, LAST_DESCRIPTOR)
    status = os.waitstatus_to_exitcode(os.waitpid(spider, 0)[1])
    if status >= 0:
        os._exit(status)
    import resource

    # A core dump belongs to the spider, if there is one.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if -status not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os._exit(128 - status)


def drop_bounding_set(libc):
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            return  # It is the first that this kernel does not have, or we may not: then there is nothing to gain from it.


def demand(result, failure):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s (%s)" % (failure, os.strerror(number)))


def start_cold(run, script):
    """Starts an isolated spider in its own Python. Returns its pid and the descriptor that releases it."""
    import json

    launch, apart = run.launch, run.launch["isolation"]
    (asked, go), (alive, living) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid > 0:
        for descriptor in (asked, living):
            os.close(descriptor)
        # The engine may signal the process group as soon as it is reported, so it must exist by then.
        os.read(alive, 1)
        os.close(alive)
        return pid, go
    try:
        os.setsid()
        os.write(living, b"!")
        os.close(go)
        orders = os.fdopen(asked, "rb").readline()
        if not orders:
            os._exit(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(run.output, 1)
        os.dup2(run.output, 2)
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        answer = os.open("spiders.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) if launch.get("lists") else None
        os.chdir("/")
        enter(apart, int(orders), launch["workingDirectory"], () if answer is None else (answer,))
        # In memory, not in a file: it may have secrets of the job, and the run's directory is out of reach.
        given = os.memfd_create("launch")
        with os.fdopen(os.dup(given), "wb") as file:
            file.write(json.dumps(launch).encode())
        os.lseek(given, 0, os.SEEK_SET)
        os.set_inheritable(given, True)
        if answer is not None:
            os.set_inheritable(answer, True)
        os.execve(
            launch["python"],
            [launch["python"], script, "--given", str(given), launch["project"], launch["spider"] or str(answer)],
            dict(os.environ, **launch["environment"]),
        )
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(1)

import { dirname, join, sep } from 'node:path'
import { itemsFileOf, jobDirectoryOf, type LaunchPlan, type RunDirectories } from '../runs/launch-plan.ts'

export interface Ways {
  /** The group that can traverse our directories. Each project's user is a member. null: projects have no users. */
  group: number | null
  /** The absolute path of bwrap, and the arguments that mount /proc. null: no sandbox. */
  sandbox: { bwrap: string; proc: readonly string[] } | null
}

/** The system directories visible in a sandbox. /etc is limited to files that reveal nothing about other programs. */
const SYSTEM = ['/usr', '/opt/python', '/nix/store', '/gnu/store']
const SYSTEM_LINKS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
const SETTINGS = [
  ...['passwd', 'group', 'nsswitch.conf', 'hosts', 'host.conf', 'resolv.conf', 'gai.conf', 'services', 'protocols'],
  ...['localtime', 'timezone', 'mime.types', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'fonts'],
  ...['ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs', 'pki/ca-trust']
]

export interface SandboxView {
  /** Nothing below this directory is visible, except the paths named here. */
  hidden: string
  readable: readonly string[]
  writable: readonly string[]
  /** Mounted at /tmp. null: an empty /tmp in memory. */
  temporary: string | null
}

/** The arguments of bwrap(1) up to the command. Later mounts cover earlier ones. */
export function sandboxArguments(proc: readonly string[], view: SandboxView): string[] {
  const isAbove = (path: string) =>
    view.hidden === path || view.hidden.startsWith(path.endsWith(sep) ? path : path + sep)
  const shown = (paths: readonly string[]) => paths.flatMap((path) => ['--ro-bind', path, path])
  const above = shown(view.readable.filter(isAbove))
  const below = shown(view.readable.filter((path) => !isAbove(path)))
  return [
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--die-with-parent', '--new-session'],
    ...['--cap-drop', 'ALL'],
    ...[...SYSTEM, ...SYSTEM_LINKS].flatMap((path) => ['--ro-bind-try', path, path]),
    ...SETTINGS.map((name) => `/etc/${name}`).flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--dev', '/dev', ...proc],
    ...(view.temporary === null ? ['--tmpfs', '/tmp'] : ['--bind', view.temporary, '/tmp']),
    ...above,
    ...['--tmpfs', view.hidden],
    ...below,
    ...view.writable.flatMap((path) => ['--bind', path, path]),
    ...['--remount-ro', view.hidden, '--remount-ro', '/']
  ]
}

/** A command that reports that the namespaces exist and keeps them until its input ends. */
const WAITING = ['/bin/sh', '-c', 'echo; read wait']

/**
 * Adds isolation to a launch plan. Only Scrapdeck itself creates, renames and removes entries in the directories
 * that lead to a project's files, so these paths always lead to the project's own files.
 */
export function isolate(
  launch: LaunchPlan,
  where: {
    ways: Ways
    /** The project's user. null: our own user. */
    user: number | null
    runDirectory: string
    dataDirectory: string
    directories: RunDirectories
    readable: readonly string[]
  }
): LaunchPlan {
  const { ways, user, runDirectory, directories } = where
  const isRun = launch.logFile !== ''
  const run = { project: launch.project, spider: launch.spider, jobid: launch.id }
  const items = isRun ? itemsFileOf(directories.itemsDirectory, run) : null
  const jobs = isRun ? jobDirectoryOf(directories.jobsDirectory, run) : null
  const files = [...(isRun ? [launch.logFile] : []), ...(items === null ? [] : [items])]
  const leading = [...files, ...(jobs === null ? [] : [jobs])].map(dirname)
  const owned = [launch.workingDirectory, ...(jobs === null ? [] : [jobs])]
  // All projects share the directory of eggs, so the user gets a copy of the egg. The copy is removed with the run.
  const copy = join(runDirectory, 'code.egg')
  const isCopied = user !== null && 'egg' in launch.source
  const source = isCopied ? { egg: copy } : launch.source
  const temporary = ways.sandbox === null ? null : join(runDirectory, 'tmp')
  const code = 'egg' in source ? [source.egg] : source.path
  const view: SandboxView = {
    hidden: where.dataDirectory,
    temporary,
    readable: [...where.readable, ...code],
    writable: [...owned, ...files]
  }
  return {
    ...launch,
    source,
    environment: {
      HOME: launch.workingDirectory,
      ...(temporary !== null && { TMPDIR: '/tmp' }),
      ...launch.environment
    },
    isolation: {
      user,
      group: user === null ? null : ways.group,
      readable: isCopied && 'egg' in launch.source ? { [launch.source.egg]: copy } : {},
      passable: [...new Set(leading.flatMap((path) => [dirname(path), path]))],
      private: owned,
      files,
      sandbox: ways.sandbox && [ways.sandbox.bwrap, ...sandboxArguments(ways.sandbox.proc, view), '--', ...WAITING],
      temporary
    }
  }
}

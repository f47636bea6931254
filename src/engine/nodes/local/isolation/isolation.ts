import { accessSync, chmodSync, chownSync, constants, existsSync, readFileSync, realpathSync } from 'node:fs'
import { chmod, chown, lchown, lstat, readdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { type Message, say } from '../../../../shared/texts/message.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { IsolationSettings, UserRange } from '../../../runtime/isolation-settings.ts'
import { makePrivateDirectory } from '../../../runtime/private-directory.ts'
import { isolatedEnvironment, childEnvironment } from '../processes/child-environment.ts'
import type { LaunchPlan, RunDirectories } from '../runs/launch-plan.ts'
import { runCommand } from '../processes/run-command.ts'
import { isolate, sandboxArguments, type Ways } from './isolation-plan.ts'
import { findUserOfRange, ProjectUsers } from './project-users.ts'

const NOTHING = ['/bin/sh', '-c', 'exit 0']
const TRY_LIMIT_MS = 10_000
// Ways to provide /proc, best first. A container that masks parts of /proc forbids mounting a new one, so its spiders
// get an empty /proc.
const PROCS = [
  ['--proc', '/proc'],
  ['--dir', '/proc']
] as const

interface IsolationOptions {
  dataDirectory: string
  directory: string
  resourcesDirectory: string
  directories: RunDirectories
  clock: Clock
}

/** Isolates projects from Scrapdeck and from each other. If `problem` is set, nothing is allowed to start. */
export class Isolation {
  readonly problem: Message | null
  /** Why the preferred isolation is not possible. Spiders run anyway unless `problem` is set. */
  readonly unavailable: Message | null
  readonly #options: IsolationOptions | null
  readonly #ways: Ways | null
  readonly #users: ProjectUsers | null
  readonly #folders = new Map<string, string[]>()

  constructor(
    options: IsolationOptions | null,
    ways: Ways | null,
    users: ProjectUsers | null,
    problem: Message | null,
    unavailable: Message | null = null
  ) {
    this.unavailable = unavailable
    this.#options = options
    this.#ways = ways
    this.#users = users
    this.problem = problem
  }

  /** Tries the requested isolation. Falls back to weaker isolation only if the operator allows it. */
  static async open({ way, users: range }: IsolationSettings, options: IsolationOptions): Promise<Isolation> {
    if (way === 'off') return NO_ISOLATION
    if (way === 'if-possible') {
      const tried = await Isolation.open({ way: 'auto', users: range }, options)
      return tried.problem === null ? tried : new Isolation(null, null, null, null, tried.unavailable)
    }
    const refuse = (why: Message) => new Isolation(options, null, null, say('apart.impossible', { way, why }), why)
    if (process.platform !== 'linux') {
      return refuse(say('apart.not_linux'))
    }
    const isRoot = process.geteuid!() === 0
    const wantsSandbox = way === 'sandbox' || (way === 'auto' && !isRoot)
    if (way === 'users' && !isRoot) {
      return refuse(say('apart.not_root'))
    }
    let users: ProjectUsers | null = null
    if (isRoot) {
      const taken = findUserOfRange(range)
      if (taken !== null) return refuse(say('apart.users_taken', { taken }))
      try {
        users = ProjectUsers.open(options.directory, range)
      } catch (error) {
        const path = join(options.directory, 'users.json')
        return refuse(say('apart.users_unreadable', { path, why: (error as Error).message }))
      }
      const failure = await findFailure([...asUser(range.first, range.first), ...NOTHING], options)
      if (failure !== null) return refuse(say('apart.no_other_user', { why: failure }))
    }
    const sandbox = wantsSandbox ? await findSandbox(range, options) : null
    if (sandbox !== null && 'code' in sandbox) return refuse(sandbox)
    const isolation = new Isolation(options, { group: users?.group ?? null, sandbox }, users, null)
    isolation.#letPass()
    const closed = users === null ? null : await findClosed(users.group, range, options)
    return closed === null ? isolation : refuse(closed)
  }

  get isOn(): boolean {
    return this.#ways !== null
  }

  environment(): Record<string, string> {
    return this.isOn ? isolatedEnvironment(process.env) : childEnvironment(process.env)
  }

  async plan(launch: LaunchPlan, runDirectory: string): Promise<LaunchPlan> {
    if (this.#ways === null) return launch
    const { dataDirectory, directories, resourcesDirectory } = this.#options!
    return isolate(launch, {
      ways: this.#ways,
      user: await this.#userOf(launch.project),
      runDirectory,
      dataDirectory,
      directories,
      readable: [...this.#foldersOf(launch.python), join(resourcesDirectory, 'python')]
    })
  }

  /**
   * Wraps a command that runs untrusted code, such as a package installation. The command runs as the user of `name`,
   * which can write only to `directory` and owns it until `takeBack`.
   */
  async command(
    name: string,
    directory: string | null,
    command: string,
    args: string[]
  ): Promise<{ command: string; args: string[] }> {
    if (this.#ways === null) return { command, args }
    const user = await this.#userOf(name)
    const { sandbox, group } = this.#ways
    if (user !== null && directory !== null) {
      await chown(dirname(directory), -1, group!)
      await chmod(dirname(directory), 0o710)
      await giveAll(directory, user)
    }
    const folders = this.#foldersOf(command)
    const writable = directory === null ? [] : [directory]
    const readable = folders.filter((folder) => folder !== directory)
    const [first, ...rest] = [
      ...(user === null ? [] : asUser(user, group!)),
      ...(sandbox === null
        ? []
        : [
            sandbox.bwrap,
            ...sandboxArguments(sandbox.proc, {
              hidden: this.#options!.dataDirectory,
              readable,
              writable,
              temporary: null
            }),
            '--'
          ]),
      command,
      ...args
    ]
    return { command: first!, args: rest }
  }

  /** Takes ownership of everything that `command` created. All projects can then read it. */
  async takeBack(name: string, directory: string): Promise<void> {
    const group = this.#ways?.group ?? null
    const user = await this.#userOf(name)
    if (group === null || user === null) return
    // Ends leftover processes. The project's user sends the signal, so it cannot reach other users' processes.
    await findFailure([...asUser(user, group), '/bin/sh', '-c', 'kill -KILL -1'], this.#options!)
    await takeAll(directory, user, group)
  }

  async #userOf(name: string): Promise<number | null> {
    return this.#users === null ? null : this.#users.of(name)
  }

  /** Lets project users traverse our directories but not list them. */
  #letPass(): void {
    const group = this.#ways?.group ?? null
    if (group === null) return
    const { dataDirectory, directory, directories } = this.#options!
    const { logsDirectory, itemsDirectory, jobsDirectory, workDirectory } = directories
    const ours = [dataDirectory, directory, ...['runs', 'environments'].map((name) => join(directory, name))]
    for (const path of [...ours, logsDirectory, itemsDirectory, jobsDirectory, workDirectory]) {
      if (path === null || !path.startsWith(dataDirectory)) continue
      makePrivateDirectory(path)
      chownSync(path, -1, group)
      chmodSync(path, 0o710)
    }
  }

  #foldersOf(python: string): string[] {
    let folders = this.#folders.get(python)
    if (folders === undefined) this.#folders.set(python, (folders = findFolders(python)))
    return folders
  }
}

/** Does nothing if the directory already belongs to the user, so that it can be called again. */
async function giveAll(directory: string, user: number): Promise<void> {
  if ((await lstat(directory)).uid === user) return
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    await lchown(join(entry.parentPath, entry.name), user, user)
  }
  await chown(directory, user, user)
}

/**
 * Works from the top down. Once a directory is ours, the user can no longer replace its entries. An entry with a
 * different owner is a hard link to another user's file and remains unchanged.
 */
async function takeAll(path: string, user: number, group: number): Promise<void> {
  const info = await lstat(path).catch(nullIfGone)
  if (info?.uid !== user) return
  await lchown(path, process.geteuid!(), group)
  if (info.isSymbolicLink()) return
  const ofOwner = info.mode & 0o500
  await chmod(path, (info.mode & 0o700) | (ofOwner >> 3))
  if (!info.isDirectory()) return
  for (const name of await readdir(path)) await takeAll(join(path, name), user, group)
}

function nullIfGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

export const NO_ISOLATION = new Isolation(null, null, null, null)

function asUser(user: number, group: number): string[] {
  const ids = [`--reuid=${user}`, `--regid=${user}`, `--groups=${group}`]
  return ['setpriv', ...ids, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']
}

async function findSandbox(
  range: UserRange,
  options: IsolationOptions
): Promise<NonNullable<Ways['sandbox']> | Message> {
  const bwrap = findProgram('bwrap')
  if (bwrap === null) return say('apart.no_bubblewrap')
  let failure: Message | string | null = null
  for (const proc of PROCS) {
    const view = { hidden: options.dataDirectory, readable: [], writable: [], temporary: null }
    const own = process.geteuid!() === 0 ? asUser(range.first, range.first) : []
    failure = await findFailure([...own, bwrap, ...sandboxArguments(proc, view), '--', ...NOTHING], options)
    if (failure === null) return { bwrap, proc }
  }
  return say('apart.bubblewrap_fails', { why: failure! })
}

/** Explains what project users cannot reach because a parent directory denies access. null: nothing. */
async function findClosed(group: number, range: UserRange, options: IsolationOptions): Promise<Message | null> {
  const runner = join(options.resourcesDirectory, 'python', 'crawl.py')
  const look = ['/bin/sh', '-c', 'cd "$0" && test -r "$1"', join(options.directory, 'work'), runner]
  const failure = await findFailure([...asUser(range.first + 1, group), ...look], options)
  if (failure === null) return null
  return say('apart.closed', { directory: options.directory, runner, why: failure })
}

async function findFailure(
  [command, ...args]: string[],
  { clock }: IsolationOptions
): Promise<Message | string | null> {
  try {
    const result = await runCommand({
      command: command!,
      args,
      environment: isolatedEnvironment(process.env),
      directory: '/',
      clock,
      timeLimitMs: TRY_LIMIT_MS,
      stdoutLimitBytes: 4096
    })
    if (result.code === 0) return null
    return result.stderr.trim().slice(0, 500) || say('python.failed_silently')
  } catch (error) {
    return (error as Error).message
  }
}

function findProgram(name: string): string | null {
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter((one) => one.startsWith('/'))) {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return join(folder, name)
    } catch {
      // Try the next folder.
    }
  }
  return null
}

const HOME_LINE = /^home\s*=\s*(.+)$/m

function findFolders(python: string): string[] {
  const environment = dirname(dirname(python))
  const settings = join(environment, 'pyvenv.cfg')
  const home = existsSync(settings) ? HOME_LINE.exec(readFileSync(settings, 'utf8'))?.[1]?.trim() : undefined
  const bases = [dirname(dirname(realpathSync(python))), ...(home === undefined ? [] : [dirname(realpathSync(home))])]
  const all = [...(home === undefined ? [] : [environment]), ...bases]
  // The system's folders are visible anyway, and programs in /bin have no separate folder.
  return [...new Set(all)].filter((folder) => folder !== '/' && folder !== '/usr')
}

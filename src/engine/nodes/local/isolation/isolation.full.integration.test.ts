import { inWords } from '../../../../shared/testing/in-words.ts'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ProjectPython } from '../../../../shared/contract/index.ts'
import { aProjectName, aVersionName } from '../../../../shared/testing/ids.ts'
import type { ScheduleRequest, SeenJob } from '../../node-client.ts'
import { render } from '../../../../shared/texts/message.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { DEFAULT_USERS, type IsolationSettings } from '../../../runtime/isolation-settings.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { isAlive } from '../../../runtime/process-identity.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { findTestBubblewrap } from '../../../testing/test-python.ts'
import { LocalNode } from '../local-node.ts'
import { readRunFiles } from '../runs/run-directory.ts'
import { buildHostileEgg } from './testing/hostile-egg.ts'
import { findReachablePython } from './testing/reachable-python.ts'

type Way = IsolationSettings['way']
const OURS = aProjectName('hostile')
const OTHERS = aProjectName('other')
const SECRET = 'QX-a-value-that-only-one-job-has'
const SECRET_BACKWARDS = SECRET.split('').reverse().join('')
const WAIT = { timeout: 60_000, interval: 50 }
const resourcesDirectory = resolve('resources')
const bwrap = findTestBubblewrap()
const isRoot = process.geteuid?.() === 0
const closings: (() => Promise<void>)[] = []
let pythons: TemporaryDirectory
let python: string

beforeAll(async () => {
  pythons = await makeTemporaryDirectory()
  await chmod(pythons.path, 0o755)
  python = findReachablePython(join(pythons.path, 'python'))
  if (bwrap?.includes('/')) vi.stubEnv('PATH', `${dirname(bwrap)}:${process.env['PATH']}`)
  vi.stubEnv('SERVICE_TOKEN', 'of the service alone')
}, 60_000)
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await pythons.remove()
})

async function aPlace(way: Way, { warm = true } = {}) {
  const root = await makeTemporaryDirectory()
  closings.push(root.remove)
  // Anyone can enter the parent of data directories, but not the data directories themselves.
  await chmod(root.path, 0o755)
  const data = join(root.path, 'data')
  const directory = join(data, 'local')
  await mkdir(join(directory, 'egg-files'), { recursive: true, mode: 0o700 })
  const secrets = ['scrapdeck.sqlite', 'secret.key', 'credentials.json', 'sessions.json'].map((name) =>
    join(data, name)
  )
  for (const path of secrets) await writeFile(path, 'a secret of Scrapdeck', { mode: 0o600 })
  const socket = join(data, 'scrapdeck.sock')
  const server = createServer((connection) => connection.end()).listen(socket)
  closings.push(() => new Promise((done) => server.close(() => done())))
  const eggs = {
    [OURS]: join(directory, 'egg-files', 'ours.egg'),
    [OTHERS]: join(directory, 'egg-files', 'others.egg')
  }
  await writeFile(eggs[OURS]!, await buildHostileEgg([...secrets, eggs[OTHERS]!]), { mode: 0o600 })
  await writeFile(eggs[OTHERS]!, await buildHostileEgg([]), { mode: 0o600 })
  const open = async (requirements: string | null = null) => {
    const setting: ProjectPython =
      requirements === null ? { kind: 'default' } : { kind: 'requirements', text: requirements }
    const node = await LocalNode.open({
      directory,
      dataDirectory: data,
      resourcesDirectory,
      pythonPath: python,
      slots: () => 4,
      isolation: { way, users: DEFAULT_USERS },
      warmStarts: { isOn: warm, mostParents: 4, waitMs: 0, mostParked: 1 },
      projectPythons: { names: () => [OURS], of: () => setting },
      source: async (project) => (eggs[project] ? { egg: eggs[project] } : null),
      clock: systemClock,
      logger: silentLogger
    })
    closings.push(async () => {
      await node.stopAll()
      await node.close()
    })
    if (warm) await vi.waitFor(() => expect(node.python.state()).toMatchObject({ start: { mode: 'warm' } }), WAIT)
    else await node.python.settled()
    return node
  }
  return { root: root.path, data, directory, secrets, socket, eggs, open }
}

function aRequest(spider: string, over: Partial<ScheduleRequest> = {}): ScheduleRequest {
  return {
    project: OURS,
    version: aVersionName('1'),
    spider,
    jobid: spider,
    settings: {},
    args: {},
    priority: 0,
    isVersionAsked: true,
    secretNames: [],
    limits: null,
    ...over
  }
}

async function untilFinished(node: LocalNode, jobid: string): Promise<SeenJob> {
  return vi.waitFor(async () => {
    const job = (await node.listJobs()).finished.find((one) => one.jobid === jobid)
    expect(job).toBeDefined()
    return job!
  }, WAIT)
}

async function readLog(node: LocalNode, project = OURS, spider = 'probe'): Promise<string> {
  const part = await node.readLog({ project, spider, jobid: spider }, { offset: 0, limitBytes: 1_000_000 })
  return Buffer.from(part?.bytes ?? []).toString()
}

type Answers = Record<string, unknown>

/** Runs another project's job with a secret, then the hostile job. Returns what the hostile job obtained. */
async function attack(way: Way, options: { warm: boolean }): Promise<Answers> {
  const t = await aPlace(way, options)
  const node = await t.open()
  const ofOther = aRequest('honest', { project: OTHERS, args: { key: `${SECRET}!` }, secretNames: ['key'] })
  await node.schedule(ofOther)
  expect(await untilFinished(node, 'honest'), await readLog(node, OTHERS, 'honest')).toMatchObject({
    exit: { code: 0 }
  })
  // This job continues, so that its processes are available to attack.
  await node.schedule(aRequest('sleeping', { project: OTHERS, args: { seconds: '600' } }))
  await vi.waitFor(async () => expect(await readLog(node, OTHERS, 'sleeping')).toContain('SLEEPING'), WAIT)
  const other = (await readRunFiles(join(t.directory, 'runs', 'sleeping'))).child!.pid
  const site = execFileSync(python, ['-c', 'import scrapy; print(scrapy.__path__[0])'], { encoding: 'utf8' }).trim()
  const own = {
    log: join(t.directory, 'logs', OURS, 'probe', 'probe.log'),
    items: join(t.directory, 'items', OURS, 'probe', 'probe.jl')
  }
  const files = {
    'its database': t.secrets[0]!,
    'its key': t.secrets[1]!,
    'its password': t.secrets[2]!,
    'its sessions': t.secrets[3]!,
    "another project's items": join(t.directory, 'items', OTHERS, 'honest', 'honest.jl'),
    "another project's log": join(t.directory, 'logs', OTHERS, 'honest', 'honest.log'),
    "another project's egg": t.eggs[OTHERS]!,
    "another project's files": join(t.directory, 'work', OTHERS, 'kept.txt'),
    "another run's arguments": join(t.directory, 'runs', 'honest', 'spec.json'),
    'its own arguments': join(t.directory, 'runs', 'probe', 'spec.json'),
    'passwords of the system': '/etc/shadow'
  }
  const pid = process.pid
  const targets = [
    ...Object.entries(files).map(([label, path]) => [`reads ${label}`, 'read', [path]]),
    ...Object.entries(files).map(([label, path]) => [`changes ${label}`, 'write', [path]]),
    ['lists the data directory', 'list_directory', [t.data, 'scrapdeck.sqlite']],
    ['lists the eggs', 'list_directory', [join(t.directory, 'egg-files'), 'others.egg']],
    ['reads the environment of the engine', 'read_environment', [pid]],
    ['reads the open files of the engine', 'list_open_files', [pid]],
    ['reads the key through the root of the engine', 'read_through', [pid, t.secrets[1]]],
    [
      "reads the log of another project's spider through its root",
      'read_through',
      [other, files["another project's log"]]
    ],
    ['reads a disk of the machine', 'read_disk', []],
    ['types into the terminal', 'type_into_terminal', []],
    ['signals the engine', 'signal_process', [pid]],
    ['traces the engine', 'trace', [pid]],
    ["reads the environment of another project's spider", 'read_environment', [other]],
    ["signals another project's spider", 'signal_process', [other]],
    ["traces another project's spider", 'trace', [other]],
    ['finds the token of the service', 'find_in_environment', ['SERVICE_TOKEN']],
    ['finds the secret of another job in memory', 'find_in_memory', [SECRET_BACKWARDS]],
    [
      'has open files of Scrapdeck',
      'inherit_descriptors',
      [join(t.directory, 'runs'), join(t.directory, 'runs', 'probe')]
    ],
    ['changes the shared Python', 'make_file_in', [join(site, '..')]],
    ['changes Scrapy', 'write', [join(site, '__init__.py')]],
    ['changes what the next warm parent imports', 'make_file_in', [join(t.directory, 'warm')]],
    ['changes its runner', 'write', [join(resourcesDirectory, 'python', 'crawl.py')]],
    ['makes a run of its own', 'make_file_in', [join(t.directory, 'runs')]],
    ['replaces its log by a link', 'plant_link', [own.log, t.secrets[1]]],
    ['replaces its items by a link', 'plant_link', [own.items, t.secrets[1]]],
    ['replaces how it ended', 'make_file_in', [join(t.directory, 'runs', 'probe')]],
    ['links a secret beside its log', 'link_hard', [own.log, t.secrets[1]]],
    ['connects to the socket of the engine', 'connect', [t.socket]],
    ['becomes root', 'make_root', []]
  ]
  await node.schedule(aRequest('probe', { args: { targets: JSON.stringify(targets) } }))
  const job = await untilFinished(node, 'probe')
  const log = await readLog(node)
  const found = /ANSWERS (\{.*\})/.exec(log)
  expect(
    found,
    `${log}\n${await readFile(join(t.directory, 'runs', 'probe', 'output.txt'), 'utf8').catch(() => '')}`
  ).not.toBeNull()
  expect(job.exit).toMatchObject({ code: 0 })
  await node.cancel({ project: OTHERS, jobid: 'sleeping', signal: 'KILL' })
  expect(await untilFinished(node, 'sleeping')).toMatchObject({ exit: { signal: 'SIGKILL' } })
  return JSON.parse(found![1]!) as Answers
}

/** These results vary: a parent may still have the secret in memory or a file open, and machines differ. */
const BY_CHANCE = [
  ...['finds the secret of another job in memory', 'has open files of Scrapdeck'],
  ...['types into the terminal', 'reads a disk of the machine']
]

const succeeded = (answers: Answers) => Object.keys(answers).filter((label) => answers[label] === true)

/** As root, a sandbox runs as the project's user. */
const WAYS: Way[] = [...(bwrap === null ? [] : ['sandbox' as const]), ...(isRoot ? ['users' as const] : [])]

describe.each(WAYS)('a hostile egg that is isolated by %s', (way) => {
  test('is listed without access to anything, warm and cold', async () => {
    const t = await aPlace(way)
    const node = await t.open()
    const honest = ['honest', 'probe', 'sleeping']
    expect(await node.listSpiders(OURS, aVersionName('1'))).toEqual(honest)
    const cold = await (await aPlace(way, { warm: false })).open()
    expect(await cold.listSpiders(OURS, aVersionName('1'))).toEqual(honest)
  }, 60_000)

  test('writes where the next run finds it, and its files belong to Scrapdeck afterwards', async () => {
    const t = await aPlace(way)
    const node = await t.open()
    for (const jobid of ['first', 'second']) {
      await node.schedule(aRequest('honest', { jobid }))
      expect(await untilFinished(node, jobid)).toMatchObject({ exit: { code: 0 } })
    }
    expect(await readFile(join(t.directory, 'work', OURS, 'kept.txt'), 'utf8')).toBe('kept\nkept\n')
    const items = await readFile(join(t.directory, 'items', OURS, 'honest', 'second.jl'), 'utf8')
    const user = isRoot ? DEFAULT_USERS.first + 1 : process.geteuid!()
    expect(JSON.parse(items)).toMatchObject({ honest: true, uid: user })
    const info = await stat(join(t.directory, 'items', OURS, 'honest', 'second.jl'))
    expect([info.uid, info.mode & 0o777]).toEqual([process.geteuid!(), 0o600])
    expect(await readdir(join(t.directory, 'runs', 'second'))).not.toContain('tmp')
  }, 60_000)

  test('stops on INT, ends with all processes that it started, and is found again by the next engine', async () => {
    const t = await aPlace(way)
    const first = await t.open()
    const seconds = String(600_000 + Math.trunc(process.pid))
    await first.schedule(aRequest('sleeping', { args: { seconds } }))
    await vi.waitFor(async () => expect(await readLog(first, OURS, 'sleeping')).toContain('SLEEPING'), WAIT)
    await vi.waitFor(() => expect(first.usage.newestUsage('sleeping')?.processes).toBeGreaterThan(1), WAIT)
    await first.close()
    const second = await t.open()
    expect((await second.listJobs()).running.map(({ jobid }) => jobid)).toEqual(['sleeping'])
    const { child } = await readRunFiles(join(t.directory, 'runs', 'sleeping'))
    await second.cancel({ project: OURS, jobid: 'sleeping', signal: 'INT' })
    await vi.waitFor(async () => expect(await readLog(second, OURS, 'sleeping')).toContain('Received SIGINT'), WAIT)
    await second.cancel({ project: OURS, jobid: 'sleeping', signal: 'INT' })
    await untilFinished(second, 'sleeping')
    expect(await isAlive(child!)).toBe(false)
    expect(execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' })).not.toContain(`sleep ${seconds}`)
  }, 60_000)

  test.each([true, false])(
    'gets no access to anything (warm start: %s)',
    async (warm) => {
      expect(succeeded(await attack(way, { warm }))).toEqual([])
    },
    120_000
  )
})

/** A package with a build that tries to read forbidden files and logs what it obtained. */
async function buildHostilePackage(way: Way, atImport = ''): Promise<string> {
  const t = await aPlace(way, { warm: false })
  // Served over HTTP, as from an index, so that it also works in a sandbox.
  const place = await mkdtemp(join(pythons.path, 'package-'))
  const source = join(place, 'hostile-1')
  await mkdir(source)
  const project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
  await writeFile(join(source, 'pyproject.toml'), project)
  await writeFile(
    join(source, 'backend.py'),
    `import os
${atImport}
got = []
for path in ${JSON.stringify([...t.secrets, t.eggs[OTHERS]])}:
    try:
        open(path).close()
        got.append(path)
    except OSError:
        pass
if "SERVICE_TOKEN" in os.environ:
    got.append("SERVICE_TOKEN")
def build_wheel(*_, **__):
    raise SystemExit("GOT %d of its wishes" % len(got))
`
  )
  // The archive is outside the folder that it contains, because tar refuses a folder that changes while tar reads it.
  const archive = join(place, 'hostile-1.tar.gz')
  execFileSync('tar', ['-C', place, '--mode=a+rX', '-czf', archive, 'hostile-1'])
  const served = createHttpServer((_request, answer) => createReadStream(archive).pipe(answer)).listen(0, '127.0.0.1')
  await once(served, 'listening')
  closings.push(() => new Promise((done) => served.close(() => done())))
  const { port } = served.address() as AddressInfo
  const node = await t.open(`http://127.0.0.1:${port}/hostile-1.tar.gz`)
  await vi.waitFor(() => expect(inWords(node.whyNotReady(OURS))).toMatch(/^could not build/), WAIT)
  const [made] = node.environments.list().filter(({ kind }) => kind === 'requirements')
  let log = ''
  for await (const { text } of node.environments.log(made!.id)) log += text
  return /GOT \d+ of its wishes/.exec(log)?.[0] ?? log
}

test.each(WAYS)(
  'a package that is installed for a project gets no access to anything (%s)',
  async (way) => {
    expect(await buildHostilePackage(way)).toBe('GOT 0 of its wishes')
  },
  90_000
)

test.each(WAYS)(
  'processes that a package leaves running end before its files are deleted, or they could replace them by links (%s)',
  async (way) => {
    const seconds = String(700_000 + Math.trunc(process.pid))
    const leaves = `import subprocess; subprocess.Popen(["sleep", "${seconds}"], start_new_session=True, stdout=-3, stderr=-3)`
    expect(await buildHostilePackage(way, leaves)).toBe('GOT 0 of its wishes')
    expect(execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' })).not.toContain(`sleep ${seconds}`)
  },
  90_000
)

test.runIf(WAYS.length > 0)(
  'the same package gets access to everything if code is not isolated',
  async () => {
    expect(await buildHostilePackage('off')).toBe('GOT 6 of its wishes')
  },
  90_000
)

test.runIf(WAYS.length > 0)(
  'the same egg gets access to most of it if spiders are not isolated',
  async () => {
    const answers = await attack('off', { warm: true })
    const failed = Object.keys(answers).filter((label) => answers[label] !== true)
    expect(failed.filter((label) => !BY_CHANCE.includes(label))).toEqual([])
  },
  120_000
)

test.runIf(process.platform === 'linux')(
  'if isolation is required and its programs are missing, nothing runs, and the node says why',
  async () => {
    const t = await aPlace('sandbox', { warm: false })
    const path = process.env['PATH']
    vi.stubEnv('PATH', t.root)
    try {
      const node = await t.open()
      expect(node.python.state()).toMatchObject({ state: 'missing', path: null })
      expect(node.python.state().problem).toMatch(/^Spiders cannot be kept apart \(keep_spiders_apart = sandbox\): /)
      expect(inWords(node.whyNotReady(OURS))).toContain('Spiders cannot be kept apart')
      await expect(node.schedule(aRequest('honest'))).rejects.toThrow('Spiders cannot be kept apart')
      await expect(node.listSpiders(OURS, aVersionName('1'))).rejects.toThrow('Spiders cannot be kept apart')
    } finally {
      vi.stubEnv('PATH', path)
    }
  }
)

test.runIf(process.platform === 'linux')(
  'if isolation is only preferred, everything runs without its programs, and the node says why',
  async () => {
    const t = await aPlace('if-possible', { warm: false })
    const path = process.env['PATH']
    vi.stubEnv('PATH', t.root)
    try {
      const node = await t.open()
      expect(node.python.state()).toMatchObject({ state: 'ready', problem: null })
      expect(render(node.notIsolated!)).toMatch(isRoot ? /cannot be given another user/ : /bubblewrap is not installed/)
      await node.schedule(aRequest('honest'))
      expect(await untilFinished(node, 'honest')).toMatchObject({ exit: { code: 0 } })
    } finally {
      vi.stubEnv('PATH', path)
    }
  }
)

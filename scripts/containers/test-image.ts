/**
 * `npm run test:image` lints the Containerfile, builds both images with Debian's tools (without a daemon or an
 * image registry) and runs them read-only, without capabilities, as their own user. Needs root. `-- --twice` builds
 * a second time without caches and compares the images. `-- --built` uses the last build.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../../e2e/support/scrapyd-fleet.ts'
import { type Client, connectClient } from '../../e2e/support/service.ts'
import { until } from '../../src/engine/testing/until.ts'
import { ensureDebianPrograms, ensurePythonPrograms } from '../setup/container-tools.mjs'
import { inRoot, nodeBinary } from '../setup/platform.mjs'
import { commandStep, showFailure } from '../setup/steps.mjs'
import { stopOnSignals } from '../setup/stop-on-signals.mjs'
import { runHostileEgg } from './hostile-egg.ts'

const PROGRAMS = { buildah: 'buildah', podman: 'podman', runc: 'runc', mmdebstrap: 'mmdebstrap' }
const SUITE = 'bookworm'
/**
 * Packages added to the smallest Debian. The Containerfile installs the same packages, which are then already present.
 */
const BASE_PACKAGES = 'ca-certificates,python3,python3-venv,tini,bubblewrap'
const BASE = 'localhost/scrapdeck-base'
const NODE_BASE = 'localhost/scrapdeck-node'
const SIZE_LIMIT_MB = { scrapdeck: 650, scrapyd: 420 }
const BUILD_LIMIT_MS = 1_800_000
/** Arguments of a run that lasts until the stop is sent, even on a busy machine. */
const SLOW_RUN = { pages: '12', delay: '1.5' }

/** Options for a container engine with limited kernel rights. They give no rights to the container. */
const ENGINE = ['--runtime', 'runc']
const LIMITS = ['--network=host', '--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024']
const HARDENED = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges', '--tmpfs=/tmp:rw,mode=1777']

/** The capabilities that root needs to give each project its own user (docs/security.md). */
const CAPABILITIES_OF_ROOT = 'SETUID,SETGID,SETPCAP,CHOWN,FOWNER,DAC_OVERRIDE,KILL'

const work = fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-image-'))
const containers = new Map<string, ChildProcess>()
const endWith = stopOnSignals(async () => {
  for (const name of containers.keys()) podman('rm', '--force', '--time=0', name)
  fs.rmSync(work, { recursive: true, force: true })
})
try {
  await main()
  await endWith(0)
} catch (error) {
  showFailure(error)
  await endWith(1)
}

async function main(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('Building without a daemon needs root here. Run it with sudo.')
  await ensureDebianPrograms(PROGRAMS)
  const hadolint = path.join(await ensurePythonPrograms(), 'hadolint')
  await commandStep({ title: 'Lint of the Containerfile', command: hadolint, args: ['Containerfile'] })
  if (!process.argv.includes('--built')) await buildBoth()
  checkContent()
  await runBoth()
}

async function buildBoth(): Promise<void> {
  await ensureBases()
  await build('scrapyd')
  const id = await build('scrapdeck')
  if (process.argv.includes('--twice')) {
    const again = await build('scrapdeck', ['--no-cache'])
    if (again !== id) throw new Error(`A second build is another image: ${again}, not ${id}`)
    console.log('✓ A second build, without caches, is the same image to the byte')
  }
}

/** Builds from Debian and from this checkout's npm and Node, which install only the packages of the lock. */
async function ensureBases(): Promise<void> {
  if (hasImage(BASE) && hasImage(NODE_BASE)) return
  const tar = path.join(work, 'base.tar')
  await commandStep({
    title: `Debian ${SUITE} as base`,
    command: 'mmdebstrap',
    args: ['--variant=minbase', `--include=${BASE_PACKAGES}`, SUITE, tar],
    timeLimitMs: BUILD_LIMIT_MS
  })
  fs.writeFileSync(path.join(work, 'Base'), 'FROM scratch\nADD base.tar /\n')
  await bud(BASE, ['-f', path.join(work, 'Base'), work])
  fs.rmSync(tar)
  const npm = path.dirname(path.dirname(fs.realpathSync(run('which', ['npm']).trim())))
  fs.cpSync(npm, path.join(work, 'npm'), { recursive: true, dereference: true })
  fs.copyFileSync(nodeBinary, path.join(work, 'node'))
  fs.writeFileSync(
    path.join(work, 'Node'),
    `FROM ${BASE}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`
  )
  await bud(NODE_BASE, ['-f', path.join(work, 'Node'), work])
}

/** @returns the image's id */
async function build(target: keyof typeof SIZE_LIMIT_MB, more: string[] = []): Promise<string> {
  // A proxy can have its own certificate authority, which the build would not know.
  const authority = process.env['NODE_EXTRA_CA_CERTS']
  const trust =
    authority === undefined
      ? []
      : [
          ...['--volume', `${authority}:/mnt/ca.crt:ro`],
          ...['--build-arg', 'NODE_EXTRA_CA_CERTS=/mnt/ca.crt', '--build-arg', 'PIP_CERT=/mnt/ca.crt']
        ]
  const bases = ['--build-arg', `BASE=${BASE}`, '--build-arg', `NODE_BASE=${NODE_BASE}`]
  await bud(imageOf(target), [...trust, ...bases, ...more, '--target', target, '-f', 'Containerfile', '.'])
  const [{ Id, Size }] = JSON.parse(podman('image', 'inspect', imageOf(target))) as [{ Id: string; Size: number }]
  const megabytes = Math.round(Size / 1e6)
  if (megabytes > SIZE_LIMIT_MB[target]) throw new Error(`The image ${target} has ${megabytes} MB`)
  console.log(`✓ ${imageOf(target)}: ${megabytes} MB, ${Id.slice(0, 12)}`)
  return Id
}

function bud(tag: string, args: string[]): Promise<string> {
  return commandStep({
    title: `Build of ${tag}`,
    command: 'buildah',
    // Only Docker's format has the health check. All files get the same time, so identical content gives identical
    // layers.
    args: [
      'bud',
      '--isolation=chroot',
      '--network=host',
      '--layers',
      '--format=docker',
      '--timestamp=0',
      '-t',
      tag,
      ...args
    ],
    timeLimitMs: BUILD_LIMIT_MS
  })
}

function checkContent(): void {
  const [{ Config, Healthcheck }] = JSON.parse(podman('image', 'inspect', imageOf('scrapdeck'))) as [
    { Config: { User: string; Entrypoint: string[] }; Healthcheck?: object }
  ]
  if (Config.User !== '10001:10001') throw new Error(`The image runs as ${Config.User}`)
  if (Healthcheck === undefined) throw new Error('The image has no health check')
  const look = `
    for name in npm gcc node-gyp git curl; do if command -v $name; then exit 1; fi; done
    test ! -e /opt/scrapdeck/src && test ! -e /opt/scrapdeck/node_modules/electron
    test -s /opt/scrapdeck/out/renderer/index.html
    test -z "$(find /opt /usr /etc -xdev -perm /022 ! -type l | head -n 3)"
    scrapdeck --version && /opt/scrapdeck/.venv/bin/scrapy version`
  const printed = podman(
    'run',
    '--rm',
    ...LIMITS,
    ...HARDENED,
    '--entrypoint=/bin/sh',
    imageOf('scrapdeck'),
    '-ec',
    look
  )
  console.log(`✓ The image has the service, the UI and ${printed.trim().split('\n').at(-1)}, and nothing to build with`)
}

async function runBoth(): Promise<void> {
  const password = randomBytes(16).toString('hex')
  const [port, scrapydPort] = [await freePort(), await freePort()]
  fs.chmodSync(work, 0o755)
  const secrets = path.join(work, 'secrets')
  fs.mkdirSync(secrets)
  for (const [name, text] of [
    ['password', password],
    ['key', randomBytes(32).toString('hex')],
    ['nodes', `http://127.0.0.1:${scrapydPort} name=scrapyd`],
    ['port.conf', `[scrapyd]\nhttp_port = ${scrapydPort}\n`]
  ] as const) {
    fs.writeFileSync(path.join(secrets, name), `${text}\n`)
  }
  for (const volume of ['scrapdeck', 'scrapyd']) {
    fs.mkdirSync(path.join(work, volume))
    fs.chownSync(path.join(work, volume), 10001, 10001)
  }
  const settings = [
    ...['-e', `SCRAPDECK_PORT=${port}`, '-e', 'SCRAPDECK_BIND=127.0.0.1', '-e', 'SCRAPDECK_LOCAL_SLOTS=2'],
    ...['-e', 'SCRAPDECK_USERNAME=scrapdeck', '-e', 'SCRAPDECK_PASSWORD_FILE=/run/secrets/password'],
    ...['-e', 'SCRAPDECK_SECRET_KEY_FILE=/run/secrets/key', '-e', 'SCRAPDECK_DISCOVER=file /run/secrets/nodes id=file']
  ]
  const startScrapdeck = () =>
    start('scrapdeck', [
      ...settings,
      ...['-v', `${secrets}:/run/secrets:ro`, '-v', `${path.join(work, 'scrapdeck')}:/var/lib/scrapdeck`]
    ])
  start('scrapyd', [
    ...['-v', `${path.join(secrets, 'port.conf')}:/etc/scrapyd/conf.d/port.conf:ro`],
    ...['-v', `${path.join(work, 'scrapyd')}:/var/lib/scrapyd`]
  ])
  startScrapdeck()
  const address = `http://127.0.0.1:${port}`
  await untilHealthy('scrapdeck', `${address}/health`)
  const drive = spawn(process.execPath, [inRoot('scripts', 'containers', 'drive.ts'), address, '2'], {
    stdio: 'inherit',
    env: { ...process.env, SCRAPDECK_PASSWORD: password }
  })
  const [code] = (await once(drive, 'exit')) as [number | null]
  if (code !== 0) throw new Error('The demo failed in the containers')

  const client = connectClient(address, { username: 'scrapdeck', password })
  const { nodes } = await client.nodes.list()
  const local = nodes.find(({ kind }) => kind === 'local')!
  const { jobs } = await client.jobs.run({ project: 'demo', spiders: ['quotes'], args: SLOW_RUN, nodeId: local.id })
  const { id } = jobs[0]!
  await until(
    'the run to start',
    async () => (await client.jobs.get({ id })).job.status,
    (status) => status === 'running'
  )
  const beganAtMs = performance.now()
  await stop('scrapdeck')
  const seconds = ((performance.now() - beganAtMs) / 1000).toFixed(1)
  startScrapdeck()
  await untilHealthy('scrapdeck', `${address}/health`)
  const status = await until(
    'the run to be known as ended',
    async () => (await client.jobs.get({ id })).job.status,
    (one) => !['running', 'queued', 'starting'].includes(one)
  )
  if (status !== 'succeeded') throw new Error(`The run that outlived the service ended as ${status}`)
  console.log(
    `✓ A stop waited ${seconds} s for the spider of the local node, and the next start knows that it succeeded`
  )
  await checkApart('the image as it is', client, () => null)
  await stop('scrapdeck')
  await stop('scrapyd')
  fs.mkdirSync(path.join(work, 'as-root'))
  // Closes the secrets to other users, because the users of projects can read what every user can read
  // (docs/security.md).
  for (const name of fs.readdirSync(secrets)) fs.chmodSync(path.join(secrets, name), 0o600)
  start('scrapdeck', [
    ...['--user', '0:0', `--cap-add=${CAPABILITIES_OF_ROOT}`, ...settings],
    ...['-v', `${secrets}:/run/secrets:ro`, '-v', `${path.join(work, 'as-root')}:/var/lib/scrapdeck`]
  ])
  await untilHealthy('scrapdeck', `${address}/health`)
  if (!(await checkApart('the image as root with seven capabilities', client, pidOfService)))
    throw new Error('Spiders are not isolated in the image as root')
  await stop('scrapdeck')
}

/** Checks that all attempts of the hostile egg fail, or that the overview states why spiders are not isolated. */
async function checkApart(what: string, client: Client, engine: () => number | null): Promise<boolean> {
  const read = () => client.system.status().catch(() => null)
  const status = await until('the Python of the local node', read, (one) => one?.python.state === 'ready', 90_000)
  const { text } = status!.problems.find(({ id }) => id === 'spiders-not-apart') ?? {}
  if (text !== undefined) {
    console.log(`✓ In ${what}, spiders cannot be kept apart here, and the overview says so: ${text}`)
    return false
  }
  const { got, tried } = await runHostileEgg(client, {
    data: '/var/lib/scrapdeck/data',
    engine: engine(),
    secrets: ['/run/secrets/password', '/run/secrets/key']
  })
  if (got.length > 0) throw new Error(`The hostile egg succeeded in ${what}: ${got.join('; ')}`)
  console.log(`✓ In ${what}, spiders are kept apart: the hostile egg tried ${tried} things and got none`)
  return true
}

/** Returns the pid of the service inside the container. */
function pidOfService(): number {
  const look = 'grep -l out/service/[s]crapdeck.js /proc/[0-9]*/cmdline | grep -v self | head -n 1'
  const found = podman('exec', nameOf('scrapdeck'), '/bin/sh', '-c', look)
  return Number(/\d+/.exec(found)![0])
}

function start(target: keyof typeof SIZE_LIMIT_MB, args: string[]): void {
  const name = nameOf(target)
  const log = fs.openSync(path.join(work, `${target}.log`), 'a')
  const child = spawn(
    'podman',
    [...ENGINE, 'run', '--rm', '--name', name, ...LIMITS, ...HARDENED, ...args, imageOf(target)],
    {
      stdio: ['ignore', log, log]
    }
  )
  containers.set(name, child)
}

async function untilHealthy(target: keyof typeof SIZE_LIMIT_MB, url: string): Promise<void> {
  const child = containers.get(nameOf(target))!
  const isHealthy = async () => {
    if (child.exitCode !== null) return true
    return spawnSync('podman', [...ENGINE, 'exec', nameOf(target), 'healthy', url]).status === 0
  }
  await until(`${target} to be healthy`, isHealthy, Boolean, 90_000)
  if (child.exitCode !== null) throw new Error(`${target} ended: ${logOf(target)}`)
}

async function stop(target: keyof typeof SIZE_LIMIT_MB): Promise<void> {
  const child = containers.get(nameOf(target))!
  const exited = child.exitCode === null ? once(child, 'exit') : null
  podman('stop', '--time=90', nameOf(target))
  await exited
  containers.delete(nameOf(target))
  if (child.exitCode !== 0) throw new Error(`${target} ended with ${child.exitCode}: ${logOf(target)}`)
}

function logOf(target: string): string {
  return fs.readFileSync(path.join(work, `${target}.log`), 'utf8').slice(-3000)
}

function nameOf(target: string): string {
  return `${target}-test-${process.pid}`
}

function imageOf(target: string): string {
  return target === 'scrapdeck' ? 'localhost/scrapdeck' : `localhost/scrapdeck-${target}`
}

function hasImage(name: string): boolean {
  return spawnSync('podman', ['image', 'exists', name]).status === 0
}

function podman(...args: string[]): string {
  return run('podman', [...ENGINE, ...args])
}

function run(command: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  if (status !== 0) throw new Error(`${command} ${args.slice(0, 6).join(' ')} … failed: ${stderr}${stdout}`)
  return stdout
}

/**
 * `npm run test:systemd` boots Debian's systemd in namespaces, installs the built service as docs/security.md says,
 * and starts the real unit. Needs root.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../../e2e/support/scrapyd-fleet.ts'
import { type Client, connectClient } from '../../e2e/support/service.ts'
import { findReachablePython } from '../../src/engine/nodes/local/isolation/testing/reachable-python.ts'
import { until } from '../../src/engine/testing/until.ts'
import { ensureServiceBuilt } from '../setup/build.mjs'
import { ensureDebianPrograms } from '../setup/container-tools.mjs'
import { inRoot } from '../setup/platform.mjs'
import { showFailure } from '../setup/steps.mjs'
import { stopOnSignals } from '../setup/stop-on-signals.mjs'
import { bootMachine, type Machine } from './debian-machine.ts'
import { logOf, runHostileEgg, startSpider, statusOf, untilStatus } from './hostile-egg.ts'

const DATA = '/var/lib/scrapdeck'
const UNIT = 'scrapdeck.service'
/** The highest exposure level that systemd 252 may report. docs/security.md explains why it is not 0. */
const EXPOSURE_MAX = 3
const STOP_LIMIT_S = 30
const RUN_LIMIT_MS = 90_000

const work = fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-systemd-'))
const booted: { machine: Machine | null } = { machine: null }
const endWith = stopOnSignals(async () => {
  await booted.machine?.stop()
  fs.rmSync(work, { recursive: true, force: true })
})
try {
  await main()
  await endWith(0)
} catch (error) {
  showFailure(error)
  if (booted.machine !== null)
    console.error(booted.machine.run('journalctl', '-u', UNIT, '-n', '60', '--no-pager', '-o', 'cat').output)
  await endWith(1)
}

async function main(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('Booting systemd in namespaces needs root. Run it with sudo.')
  await ensureDebianPrograms({ bwrap: 'bubblewrap', systemctl: 'systemd', nsenter: 'util-linux', useradd: 'passwd' })
  await ensureServiceBuilt()
  fs.chmodSync(work, 0o755)
  const port = await freePort()
  const credentials = { username: 'deck', password: randomBytes(16).toString('hex') }
  const here = await bootMachine(work, installation(port, credentials))
  booted.machine = here
  console.log(`✓ systemd ${here.demand('systemctl', '--version').split(' ')[1]} is process 1`)

  here.demand('systemd-analyze', 'verify', `/etc/systemd/system/${UNIT}`)
  const began = performance.now()
  here.demand('systemctl', 'start', UNIT)
  const address = `http://127.0.0.1:${port}`
  const answer = await fetch(`${address}/health`)
  if (!answer.ok) throw new Error(`The unit was started, but /health says ${answer.status}`)
  console.log(`✓ The unit is ready when its start returns (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  checkIdentity(here)
  checkExposure(here)
  const client = connectClient(address, credentials)
  await until(
    'the Python of the local node',
    async () => (await client.system.status()).python.state,
    (state) => state === 'ready',
    60_000
  )
  await attack(here, client)
  await outlive(here, client)
  await refuse(here, port, credentials)
}

/**
 * Returns shell lines that install the service as docs/security.md says, but mount the checkout instead of cloning
 * it.
 */
function installation(port: number, { username, password }: { username: string; password: string }): string[] {
  const python = path.dirname(path.dirname(findReachablePython(path.join(work, 'python'))))
  const parts = ['out', 'resources', 'node_modules', 'bin', 'package.json']
  const bind = (from: string, name: string) =>
    fs.statSync(from).isDirectory()
      ? `mkdir -p "$root/opt/scrapdeck/${name}"; mount --bind -o ro ${from} "$root/opt/scrapdeck/${name}"`
      : `cp ${from} "$root/opt/scrapdeck/${name}"`
  return [
    'umask 022',
    'mkdir -p "$root/opt/scrapdeck" "$root/etc/scrapyd"',
    ...parts.map((name) => bind(inRoot(name), name)),
    bind(python, '.venv'),
    'chroot "$root" useradd --system --user-group --home-dir /var/lib/scrapdeck --no-create-home --shell /usr/sbin/nologin scrapdeck',
    `printf '[scrapyd]\\nhttp_port = ${port}\\n' > "$root/etc/scrapyd/scrapyd.conf"`,
    `install -m 600 /dev/null "$root/etc/scrapyd/scrapdeck.env"`,
    `printf 'SCRAPDECK_USERNAME=%s\\nSCRAPDECK_PASSWORD=%s\\n' ${username} ${password} > "$root/etc/scrapyd/scrapdeck.env"`,
    `cp ${inRoot('resources/systemd/scrapdeck.service')} "$root/etc/systemd/system/"`,
    // Keeps this machine's journals out of the booted machine.
    'mkdir -p "$root/var/log/journal"; mount -t tmpfs none "$root/var/log/journal"'
  ]
}

function property(here: Machine, name: string): string {
  return here.demand('systemctl', 'show', UNIT, '--value', '-p', name).trim()
}

function checkIdentity(here: Machine): void {
  const pid = property(here, 'MainPID')
  const status = here.demand('cat', `/proc/${pid}/status`)
  const user = here.demand('id', '-u', 'scrapdeck').trim()
  for (const line of [
    `Uid:\t${user}\t${user}\t${user}\t${user}`,
    'CapEff:\t0000000000000000',
    'NoNewPrivs:\t1',
    'Seccomp:\t2'
  ])
    if (!status.includes(line)) throw new Error(`The service does not have ${JSON.stringify(line)}: ${status}`)
  const open = here.demand('find', DATA, '-perm', '/077', '-not', '-type', 'l', '-not', '-path', `${DATA}/tmp/*`).trim()
  if (open !== '') throw new Error(`Others have access to:\n${open}`)
  console.log(
    '✓ It runs as its user, without capabilities, with a filter of system calls; its data is closed to others'
  )
}

function checkExposure(here: Machine): void {
  const text = here.run('systemd-analyze', 'security', UNIT, '--no-pager').output
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(text)?.[1])
  if (!(exposure <= EXPOSURE_MAX)) throw new Error(`systemd-analyze security: ${exposure}\n${text}`)
  console.log(`✓ systemd-analyze security: ${exposure}`)
}

async function attack(here: Machine, client: Client): Promise<void> {
  const engine = Number(property(here, 'MainPID'))
  const { got, tried } = await runHostileEgg(client, {
    data: DATA,
    engine,
    secrets: ['/etc/scrapyd/scrapdeck.env', '/etc/shadow'],
    more: [
      ['finds the socket of systemd', 'find_in_environment', ['NOTIFY_SOCKET']],
      ['tells systemd something', 'connect', ['/run/systemd/notify']]
    ]
  })
  if (got.length > 0) throw new Error(`The hostile egg succeeded: ${got.join('; ')}`)
  console.log(`✓ Spiders run in their sandbox under the unit; the hostile egg tried ${tried} things and got none`)
}

async function outlive(here: Machine, client: Client): Promise<void> {
  const id = await startSpider(client, 'other', 'sleeping', { seconds: '600' })
  await until(
    'the spider to run',
    () => logOf(client, id).catch(() => ''),
    (log) => log.includes('SLEEPING'),
    RUN_LIMIT_MS
  )
  const supervisor = () => here.run('pgrep', '-u', 'scrapdeck', '-f', 'sleep 600').output.trim()
  const before = supervisor()
  const check = async (how: string) => {
    // The stop closed an open connection, so the first request can fail.
    const answered = await until(
      'an answer',
      () => statusOf(client, id).catch(() => null),
      (one) => one !== null
    )
    const [status, now] = [answered, supervisor()]
    if (status !== 'running' || now !== before || now === '')
      throw new Error(`After ${how} the run is ${status} (processes ${before}, then ${now})`)
    console.log(`✓ A run goes on over ${how}`)
  }
  here.demand('systemctl', 'restart', UNIT)
  await check('a restart')
  here.demand('systemctl', 'kill', '--kill-who=main', '--signal=KILL', UNIT)
  await until(
    'systemd to start it again',
    () => here.run('systemctl', 'is-active', UNIT).output.trim() === 'active' && property(here, 'NRestarts') === '1',
    Boolean,
    60_000
  )
  await check('a crash, after which systemd starts the service again')
  const began = performance.now()
  here.demand('systemctl', 'stop', UNIT)
  const seconds = (performance.now() - began) / 1000
  if (seconds > STOP_LIMIT_S || property(here, 'Result') !== 'success')
    throw new Error(`The stop took ${seconds} s: ${property(here, 'Result')}`)
  if (supervisor() !== before) throw new Error('The stop ended the run')
  console.log(`✓ A stop takes ${seconds.toFixed(1)} s and leaves the run`)
  here.demand('systemctl', 'start', UNIT)
  await check('a stop and a start')
  await client.jobs.cancel({ ids: [id] })
  await client.jobs.cancel({ ids: [id], force: true })
  await untilStatus(client, id, 'cancelled')
  await until('its processes to end', supervisor, (pids) => pids === '')
  console.log('✓ It ends when it is cancelled, with all its processes')
}

async function refuse(here: Machine, port: number, credentials: { username: string; password: string }): Promise<void> {
  here.demand('systemctl', 'stop', UNIT)
  const file = here.at('/etc/scrapyd/scrapyd.conf')
  const before = fs.readFileSync(file, 'utf8')
  fs.writeFileSync(file, '[scrapyd]\nhttp_port = nonsense\n')
  const { status } = here.run('systemctl', 'start', UNIT)
  const journal = here.demand('journalctl', '-u', UNIT, '-n', '30', '--no-pager', '-o', 'cat')
  if (status === 0 || !journal.includes('http_port')) throw new Error(`A refused configuration is not told: ${journal}`)
  here.run('systemctl', 'stop', UNIT)
  here.run('systemctl', 'reset-failed', UNIT)
  fs.writeFileSync(file, before)
  here.demand('systemctl', 'start', UNIT)
  const client = connectClient(`http://127.0.0.1:${port}`, credentials)
  await until('an answer', () => client.system.status().catch(() => null), Boolean)
  here.demand('systemctl', 'stop', UNIT)
  console.log('✓ A configuration that is refused fails the start, and the journal says why')
}

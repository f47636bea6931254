/**
 * Three real Scrapyd 1.6 servers with two slots each, Scrapdeck with them as nodes, and 60 jobs of the demo
 * project.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { type Scrapyd, startScrapydFleet } from '../e2e/support/scrapyd-fleet.ts'
import { type Client, connectClient } from '../e2e/support/service.ts'
import { until } from '../src/engine/testing/until.ts'
import { runDemoJobs } from './demo-jobs.ts'
import { DemoRecord, describeDemo, findLivingDemos } from './demo-processes.ts'
import { readDemoArguments, SCRAPYD_COUNT } from './setup/demo-arguments.mjs'
import { cacheDirectory, inRoot, isWindows } from './setup/platform.mjs'
import { stopOnSignals } from './setup/stop-on-signals.mjs'

const NODE_COUNT = SCRAPYD_COUNT
const SLOTS = 2
const START_LIMIT_MS = 30_000
const STOP_LIMIT_MS = 10_000

const flags = readDemoArguments(process.argv.slice(2))
// demo.mjs has already refused invalid arguments.
if ('problem' in flags) throw new Error(flags.problem)
const firstPort = flags.port
const demosDirectory = path.join(cacheDirectory, 'demo')
/** One directory per port, because another demo may be running. */
const demoDirectory = path.join(demosDirectory, String(firstPort))
const dataDirectory = path.join(demoDirectory, 'scrapdeck')
const credentials = { username: 'demo', password: randomBytes(12).toString('hex') }
const record = new DemoRecord(demoDirectory, firstPort)
const stops: (() => Promise<void>)[] = []
/** Whether the demo is stopping. Requests in progress then fail, which is expected. */
let isStopping = false

const endWith = stopOnSignals(stopAll)
try {
  const isRight = await demonstrate()
  if (flags.exit) await endWith(isRight ? 0 : 1)
  console.log(
    `Scrapdeck and the three Scrapyds keep running; ${commandLine('jobs')} lists the jobs. Ctrl-C stops them.`
  )
} catch (error) {
  if (!isStopping) console.error(error instanceof Error ? error.message : error)
  await endWith(1)
}

async function demonstrate(): Promise<boolean> {
  await requireNoDemoHere()
  for (let port = firstPort; port <= firstPort + NODE_COUNT; port++) await requireFree(port)
  fs.rmSync(demoDirectory, { recursive: true, force: true })
  await record.begin()

  const fleet = await startFleet()
  console.log(`✓ ${fleet.length} Scrapyd 1.6 servers: ${fleet.map(({ url }) => url).join(' ')}`)
  const client = await startScrapdeck()
  for (const [index, { url }] of fleet.entries()) {
    await client.nodes.add({ url, name: `demo-${index + 1}`, slots: SLOTS })
  }
  return runDemoJobs(client)
}

async function startFleet(): Promise<Scrapyd[]> {
  const fleet = await startScrapydFleet(
    Array.from({ length: NODE_COUNT }, (_, index) => ({
      port: firstPort + 1 + index,
      maxProc: SLOTS,
      directory: path.join(demoDirectory, `scrapyd-${index + 1}`)
    }))
  )
  stops.push(...fleet.map((server) => () => server.stop()))
  for (const server of fleet) await record.add(`Scrapyd on ${server.port}`, server.pid())
  return fleet
}

async function startScrapdeck(): Promise<Client> {
  const logFile = path.join(demoDirectory, 'scrapdeck.log')
  const child = spawn(
    process.execPath,
    [inRoot('src/cli/bin.ts'), 'serve', `--port=${firstPort}`, `--data=${dataDirectory}`, '--local-slots=0'],
    {
      // Has its own process group: on Ctrl-C, the demo itself stops it, in the right order.
      detached: true,
      stdio: ['ignore', 'pipe', fs.openSync(logFile, 'w')],
      env: { ...process.env, SCRAPDECK_USERNAME: credentials.username, SCRAPDECK_PASSWORD: credentials.password }
    }
  )
  stops.push(() => end(child))
  process.once('exit', () => child.kill('SIGKILL'))
  await record.add('Scrapdeck', child.pid)
  let printed = ''
  child.stdout?.on('data', (piece) => (printed += piece))
  await until(
    `Scrapdeck to start (its log: ${path.relative(process.cwd(), logFile)})`,
    async () => ({ printed, exitCode: child.exitCode }),
    (now) => /^Open http.*\n/m.test(now.printed) || now.exitCode !== null,
    START_LIMIT_MS
  )
  if (child.exitCode !== null) throw new Error(`Scrapdeck did not start:\n${fs.readFileSync(logFile, 'utf8')}`)
  console.log(`✓ ${printed.trim().replaceAll('\n', '\n  ')}`)
  console.log(`  In another terminal, the command line: ${commandLine('jobs')}
  --data says where the user name and password are: in credentials.json there, which only you can read.
  This shows them: ${commandLine('credentials')}`)
  return connectClient(`http://127.0.0.1:${firstPort}`, credentials)
}

/** Returns the exact command for a shell in any directory. The data directory also provides the address. */
function commandLine(words: string): string {
  const program = isWindows
    ? `npm --prefix ${forShell(inRoot())} run -s scrapdeck --`
    : forShell(inRoot('bin', 'scrapdeck'))
  return `${program} ${words} --data ${forShell(dataDirectory)}`
}

function forShell(file: string): string {
  if (!/[^\w./:\\-]/.test(file)) return file
  return isWindows ? `"${file}"` : `'${file.replaceAll("'", "'\\''")}'`
}

/** Throws if another demo uses our directory or one of our ports. Other demos can keep running. */
async function requireNoDemoHere(): Promise<void> {
  for (const demo of await findLivingDemos(demosDirectory)) {
    const text = describeDemo(demo)
    if (Math.abs(demo.port - firstPort) > NODE_COUNT) console.log(text)
    else throw new Error(`${text}\nOr take four other ports: npm run demo -- --port ${firstPort + 100}`)
  }
}

async function requireFree(port: number): Promise<void> {
  const probe = net.createServer()
  const isFree = await new Promise((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => resolve(true))
  })
  if (!isFree) {
    throw new Error(
      `Port ${port} is in use. Stop what uses it, or take four others: npm run demo -- --port ${firstPort === 7800 ? 7900 : 7800}`
    )
  }
  probe.close()
  await once(probe, 'close')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
  await exited
  clearTimeout(timer)
}

async function stopAll(): Promise<void> {
  isStopping = true
  for (const stop of stops.splice(0).reverse()) await stop()
}

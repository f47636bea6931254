import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readTestEnvironment } from '../../../../../scripts/setup/test-environment.mjs'
import { until } from '../../../testing/until.ts'
import { parsePostgresAddress } from '../../../runtime/postgres-address.ts'
import { connectTo } from '../postgres-driver.ts'

/** The user and group of the server, because PostgreSQL refuses to run as root. */
const NOBODY = 65_534

export interface PostgresServer {
  url: string
  /** Kills the server without a clean shutdown (SIGQUIT), as if its machine had failed. */
  crash(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** Why no server can be started here; null: one can be started, or DATABASE_URL names one. */
export const whyNoPostgres = (): string | null =>
  process.env['DATABASE_URL'] === undefined && readTestEnvironment().postgres?.programs == null
    ? 'the test environment has no PostgreSQL'
    : null

export async function startPostgres(): Promise<PostgresServer> {
  // Set for tests with another version (scripts/test-postgres.mjs).
  const programs = process.env['POSTGRES_PROGRAMS'] ?? readTestEnvironment().postgres!.programs
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-postgres-'))
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  chmodSync(directory, 0o700)
  if (user.uid !== undefined) chownSync(directory, user.uid, user.gid)
  const data = join(directory, 'data')
  const settings = ['-U', 'scrapdeck', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N']
  const made = spawnSync(join(programs!, 'initdb'), ['-D', data, ...settings], {
    ...user,
    cwd: directory,
    encoding: 'utf8'
  })
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}${String(made.error ?? '')}`)
  const port = await freePort()
  const url = `postgres://scrapdeck@127.0.0.1:${port}/postgres`
  let server: ChildProcess | null = null

  async function start(): Promise<void> {
    const options = ['-D', data, '-p', String(port), '-k', directory, '-c', 'listen_addresses=127.0.0.1']
    server = spawn(join(programs!, 'postgres'), options, { ...user, cwd: directory, stdio: 'ignore' })
    await until('PostgreSQL', async () => isReady(url), Boolean, 30_000)
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = server
    server = null
    if (ending === null || ending.exitCode !== null) return
    const exited = new Promise((resolve) => ending.once('exit', resolve))
    ending.kill(signal)
    await exited
  }
  await start()
  return {
    url,
    start,
    crash: () => end('SIGQUIT'),
    async stop() {
      await end('SIGINT')
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

function isReady(url: string): boolean {
  const connection = connectTo(parsePostgresAddress(`${url}?namespace=ready`))
  try {
    connection.send({ text: 'SELECT 1', values: [] }).result()
    return true
  } catch {
    return false
  } finally {
    connection.end()
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

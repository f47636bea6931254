import { spawnSync } from 'node:child_process'
import { isCore } from '../../../../scripts/test-length.mjs'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { plain } from '../../../shared/texts/message.ts'
import { rootDirectory } from '../../../../scripts/setup/platform.mjs'
import { readTestEnvironment } from '../../../../scripts/setup/test-environment.mjs'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { parsePostgresAddress } from '../../runtime/postgres-address.ts'
import { aNewJob } from '../../testing/builders.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { openPostgresStoreHere } from '../postgres/postgres-store.ts'
import { startPostgres, whyNoPostgres } from '../postgres/testing/start-postgres.ts'
import { openSqliteStoreHere } from '../sqlite/sqlite-store.ts'
import type { Store } from '../store.ts'

const common = { clock: systemClock, logger: silentLogger }
const DOCUMENT = readFileSync(join(rootDirectory, 'docs/scaling.md'), 'utf8')
const PROGRAMS = readTestEnvironment().postgres?.programs ?? ''
const canRun = (program: string) => spawnSync(program, ['--version'], { env: environment({}) }).status === 0

function environment(given: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${PROGRAMS}:${process.env['PATH']}`, ...given }
}

function carryOut(name: string, directory: string, given: Record<string, string>): void {
  const commands = new RegExp(`^\`\`\`sh ${name}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(DOCUMENT)?.[1]
  expect(commands, name).toBeDefined()
  const { status, stderr } = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', commands!], {
    cwd: directory,
    env: environment(given),
    encoding: 'utf8'
  })
  expect([status, stderr]).toEqual([0, ''])
}

/** After the backup, the store changes and the data directory is lost. */
async function backUpAndRestore(name: string, open: (dataDirectory: string) => Promise<Store>, given = {}) {
  const directory = await makeTemporaryDirectory()
  onTestFinished(directory.remove)
  const data = join(directory.path, 'data')
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(join(data, 'secret.key'), 'the key')
  const store = await open(data)
  const [before, after] = [aNewJob({ args: { text: "größe '\n" } }), aNewJob()]
  await store.enqueueJobs([before])
  const was = await store.getJob(before.id)
  carryOut(`backup-${name}`, directory.path, { DATA: data, ...given })
  await store.enqueueJobs([after])
  await store.setPriority([before.id], 9, { atMs: 1, message: plain('raised'), evidence: {} })
  await store.close()
  renameSync(data, `${data}.lost`)
  carryOut(`restore-${name}`, directory.path, { DATA: data, ...given })
  expect(readFileSync(join(data, 'secret.key'), 'utf8')).toBe('the key')
  const restored = await open(data)
  expect([await restored.getJob(before.id), await restored.getJob(after.id)]).toEqual([was, null])
  await restored.enqueueJobs([after])
  expect((await restored.countByState()).queued).toBe(2)
  await restored.close()
}

describe.skipIf(process.platform === 'win32')('the documented backup is restored by the documented commands', () => {
  test('with SQLite, while the store is in use', async () => {
    await backUpAndRestore('sqlite', (data) => openSqliteStoreHere({ ...common, path: join(data, 'scrapdeck.sqlite') }))
  })

  // An older pg_dump refuses a newer server, so this uses the pg_dump of the server.
  test.skipIf(isCore || whyNoPostgres() !== null || PROGRAMS === '' || !canRun('pg_dump'))(
    'with PostgreSQL, while the store is in use',
    async () => {
      const server = await startPostgres()
      onTestFinished(() => server.stop())
      const address = parsePostgresAddress(server.url)
      const open = async () => {
        for (let tries = 0; ; tries += 1) {
          try {
            return await openPostgresStoreHere({ ...common, address })
          } catch (error) {
            if (tries === 50) throw error
            await new Promise((resolve) => setTimeout(resolve, 100))
          }
        }
      }
      await backUpAndRestore('postgres', open, { STORE: server.url })
    }
  )
})

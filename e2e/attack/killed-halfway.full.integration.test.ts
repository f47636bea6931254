import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, createReadStream, ftruncateSync, openSync, readdirSync } from 'node:fs'
import { chmod, cp, mkdir, readFile, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import DatabaseConstructor from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { newestVersion } from '../../src/engine/storage/schema-versions.ts'
import { MIGRATIONS } from '../../src/engine/storage/sqlite/migrate.ts'
import { createFakeClock } from '../../src/engine/testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../src/engine/testing/temporary-directory.ts'
import { until } from '../../src/engine/testing/until.ts'
import { SERVICE_ENTRY } from '../support/service.ts'
import { readEverything } from '../upgrades/read-everything.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FIXTURES = join(ROOT, 'e2e/upgrades/data-directories')
const NEWEST = join(FIXTURES, readdirSync(FIXTURES).at(-1)!)
const MIGRATING = fileURLToPath(new URL('./migrate-until-killed.ts', import.meta.url))
const LIMIT_MS = 300_000
const KILLS = 8
const SPREAD_MS = 600
const LOG_BYTES = 400_000_000

async function aDataDirectory() {
  const directory = await makeTemporaryDirectory()
  onTestFinished(directory.remove)
  const data = join(directory.path, 'data')
  await cp(join(NEWEST, 'data'), data, { recursive: true })
  await chmod(join(data, 'secret.key'), 0o600)
  return { place: directory.path, data }
}

function run(...words: string[]): ChildProcess {
  const child = spawn(process.execPath, words, { cwd: ROOT, stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin!.on('error', () => {})
  child.stdout!.resume()
  return child
}

async function killAndWait(child: ChildProcess): Promise<void> {
  const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
  child.kill('SIGKILL')
  await exited
}

test(
  'a migration that is killed at any moment has changed nothing, loses nothing, and succeeds the next time',
  async () => {
    const { data } = await aDataDirectory()
    const path = join(data, 'scrapdeck.sqlite')
    const look = () => {
      const database = new DatabaseConstructor(path)
      const added = database.prepare("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'added%'").pluck().get()
      const column = database
        .prepare("SELECT count(*) FROM pragma_table_info('jobs') WHERE name = 'added'")
        .pluck()
        .get()
      const version = database.pragma('user_version', { simple: true })
      const check = database.pragma('integrity_check', { simple: true })
      database.close()
      return { version, added, column, check }
    }
    const version = newestVersion(MIGRATIONS)
    for (let turn = 0; turn < KILLS; turn += 1) {
      const child = run(MIGRATING, path, 'endless')
      await once(child.stdout!, 'data')
      await pause((turn * SPREAD_MS) / KILLS)
      await killAndWait(child)
      expect(look()).toEqual({ version, added: 0, column: 0, check: 'ok' })
    }
    const { nowMs, ...before } = JSON.parse(await readFile(join(NEWEST, 'expected.json'), 'utf8'))
    expect(await readEverything(data, createFakeClock(nowMs))).toMatchObject(before)
    expect(await once(run(MIGRATING, path), 'exit')).toEqual([0, null])
    expect(look()).toEqual({ version: version + 1, added: 2, column: 1, check: 'ok' })
  },
  LIMIT_MS
)

test(
  'the next run removes what a killed backup or restore has left, and no backup or restored directory is ever incomplete',
  async () => {
    const { place, data } = await aDataDirectory()
    const log = join(data, 'local/logs/p/s/long.log')
    await mkdir(join(log, '..'), { recursive: true })
    const file = openSync(log, 'w')
    ftruncateSync(file, LOG_BYTES)
    closeSync(file)
    const [backups, restored] = [join(place, 'backups'), join(place, 'restored')]
    for (const path of [backups, restored]) await mkdir(path)
    const backup = (name: string) =>
      run(SERVICE_ENTRY, 'backup', join(backups, name), `--data=${data}`, '--not-encrypted')
    const drafts = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('.'))
    // Tries again if the backup completed before the kill, because it then left no draft.
    for (let turn = 0; turn < KILLS && drafts(backups).length === 0; turn += 1) {
      const child = backup(`killed-${turn}`)
      await until('the backup is being written', () => drafts(backups).length > 0 || child.exitCode !== null)
      await killAndWait(child)
      await rm(join(backups, `killed-${turn}`), { force: true })
    }
    expect(readdirSync(backups)).toHaveLength(1)
    expect(drafts(backups)).toHaveLength(1)
    expect(await once(backup('whole'), 'exit')).toEqual([0, null])
    expect(readdirSync(backups)).toEqual(['whole'])
    expect(readdirSync(data).filter((name) => name.startsWith('backup-'))).toEqual([])

    const target = join(restored, 'data')
    const whole = join(backups, 'whole')
    for (let turn = 0; turn < 2; turn += 1) {
      const child = run(SERVICE_ENTRY, 'restore', '-', `--data=${target}`)
      createReadStream(whole, { end: (await stat(whole)).size - 10 }).pipe(child.stdin!, { end: false })
      await until('it is being restored', () => drafts(restored).length > 0)
      await killAndWait(child)
      expect(readdirSync(restored)).not.toContain('data')
    }
    expect(drafts(restored)).toHaveLength(1)
    expect(await once(run(SERVICE_ENTRY, 'restore', whole, `--data=${target}`), 'exit')).toEqual([0, null])
    expect(readdirSync(restored)).toEqual(['data'])
    await rm(join(target, 'local'), { recursive: true })
    await chmod(join(data, 'secret.key'), 0o600)
    await cp(join(data, 'secret.key'), join(target, 'secret.key'))
    const { nowMs, jobs } = JSON.parse(await readFile(join(NEWEST, 'expected.json'), 'utf8'))
    expect((await readEverything(target, createFakeClock(nowMs))).jobs).toMatchObject(jobs)
  },
  LIMIT_MS
)

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { SERVICE_ENTRY, startService } from '../support/service.ts'
import { asWheel } from '../../src/engine/testing/archives.ts'
import { until } from '../../src/engine/testing/until.ts'

const root = resolve(import.meta.dirname, '../..')

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-import-test-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}

function run(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolveRun) => {
    const command = [SERVICE_ENTRY, 'import-scrapyd', ...args]
    execFile(process.execPath, command, { cwd: root, timeout: 60_000 }, (error, stdout, stderr) => {
      resolveRun({ code: error === null ? 0 : Number(error.code ?? -1), output: stdout + stderr })
    })
  })
}

async function ask(
  scrapyd: Scrapyd,
  path: string,
  form?: Record<string, string | Blob>
): Promise<Record<string, unknown>> {
  const body = form && new FormData()
  for (const [name, value] of Object.entries(form ?? {})) body?.append(name, value)
  const response = await fetch(scrapyd.url + path, body ? { method: 'POST', body } : {})
  const answer = (await response.json()) as Record<string, unknown>
  if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer))
  return answer
}

/** Lists every file with its content and modification time, because the import must not change them. */
function fingerprint(directory: string): string[] {
  return (readdirSync(directory, { recursive: true }) as string[]).sort().map((path) => {
    const file = join(directory, path)
    const stats = statSync(file)
    if (stats.isDirectory()) return path
    return `${path} ${stats.mtimeMs} ${createHash('sha256').update(readFileSync(file)).digest('hex')}`
  })
}

async function leaveScrapyd(directory: string): Promise<Scrapyd> {
  const configuration = { jobstorage: 'scrapyd.jobstorage.SqliteJobStorage' }
  const scrapyd = await startScrapyd({ directory, maxProc: 1, configuration })
  onTestFinished(() => scrapyd.stop())
  const egg = new Blob([Buffer.from(await buildDemoEgg())])
  const wheel = new Blob([Buffer.from(await asWheel(await buildDemoEgg()))])
  await ask(scrapyd, 'addversion.json', { project: 'demo', version: 'r9', egg: wheel })
  await ask(scrapyd, 'addversion.json', { project: 'demo', version: 'r10', egg })
  const schedule = (spider: string, jobid: string, more: Record<string, string> = {}) =>
    ask(scrapyd, 'schedule.json', { project: 'demo', spider, jobid, ...more })
  await schedule('quotes', 'done-1', { pages: '2', delay: '0' })
  await until(
    'a job to finish',
    () => ask(scrapyd, 'listjobs.json?project=demo'),
    (answer) => (answer['finished'] as { id: string }[]).some(({ id }) => id === 'done-1')
  )
  await schedule('slow', 'cut-off', { seconds: '600' })
  await until(
    'the slot to be taken',
    () => ask(scrapyd, 'listjobs.json?project=demo'),
    (answer) => (answer['running'] as unknown[]).length === 1
  )
  // Scrapyd lists a job as running before its log exists. Without the log, there would be one job fewer to import.
  await until(
    'the log of the job that is cut off',
    async () => existsSync(join(directory, 'logs', 'demo', 'slow', 'cut-off.log')),
    (isThere) => isThere
  )
  await schedule('quotes', 'waits-1', { pages: '1', delay: '0', setting: 'LOG_LEVEL=INFO', _version: 'r9' })
  await schedule('quotes', 'waits-2', { pages: '1', delay: '0' })
  await schedule('quotes', 'first', { pages: '1', delay: '0', priority: '5' })
  return scrapyd
}

it('imports the data of a real Scrapyd once, changes nothing there, and runs the pending jobs', async () => {
  const directory = makeDirectory()
  const data = join(makeDirectory(), 'data')
  const scrapyd = await leaveScrapyd(directory)

  const refused = await run(directory, '--data', data)
  expect([refused.code, refused.output]).toEqual([2, expect.stringContaining('Stop that Scrapyd first')])
  await scrapyd.kill({ withSpiders: true })

  // Files that Scrapyd, or older versions of it, sometimes leave behind.
  writeFileSync(join(directory, 'eggs', 'demo', 'broken.egg'), 'no egg')
  const odd = `
import sqlite3, json
queue = sqlite3.connect('dbs/demo.db')
put = lambda message: queue.execute('INSERT INTO spider_queue (priority, message) VALUES (0, ?)', (json.dumps(message).encode(),))
put({'name': 'quotes', '_job': 'list', 'settings': {}, 'pages': ['1']})
put({'name': 'quotes', '_job': '../x', 'settings': {}})
queue.commit()
other = sqlite3.connect('dbs/gone.db')
other.execute('CREATE TABLE spider_queue (id integer PRIMARY KEY, priority real key, message blob)')
other.execute("INSERT INTO spider_queue (priority, message) VALUES (0, ?)", (b'{"name": "a", "_job": "b", "settings": {}}',))
other.commit()
`
  await new Promise<void>((resolveRun, reject) =>
    execFile(readTestEnvironment().python, ['-c', odd], { cwd: directory }, (error) =>
      error ? reject(error) : resolveRun()
    )
  )
  const before = fingerprint(directory)

  const dry = await run(directory, '--data', data, '--dry-run')
  expect(dry.output).toContain('pending jobs: 3 imported, 0 already known, 3 skipped')
  expect(() => statSync(data)).toThrow('ENOENT')

  const first = await run(directory, '--data', data)
  expect(first.output).toContain('eggs: 2 imported, 0 already known, 1 skipped')
  expect(first.output).toContain(`skipped ${join(directory, 'eggs', 'demo', 'broken.egg')}: `)
  expect(first.output).toContain('finished jobs: 1 imported, 0 already known, 0 skipped')
  expect(first.output).toContain('of demo: its argument "pages" is not text')
  expect(first.output).toContain('of demo: its jobid contains a slash')
  expect(first.output).toContain('skipped 1 pending jobs of gone: there is no such project')
  expect(first.output).toContain('pending jobs: 3 imported')
  expect(first.output).toMatch(/logs: 2 imported/)
  const second = await run(directory, '--data', data)
  expect(second.code).toBe(0)
  for (const noun of ['eggs: 0', 'finished jobs: 0', 'pending jobs: 0', 'logs: 0', 'items: 0']) {
    expect(second.output).toContain(`${noun} imported`)
  }
  expect(fingerprint(directory)).toEqual(before)

  const service = await startService({ dataDirectory: data, localSlots: 1 })
  onTestFinished(() => service.stop())
  const { jobs } = await until(
    'the pending jobs to run',
    () => service.client.jobs.list({}),
    (list) => list.jobs.every(({ state }) => state === 'ended'),
    60_000
  )
  expect(jobs.map(({ jobid, status }) => `${jobid} ${status}`).sort()).toEqual([
    'done-1 succeeded',
    'first succeeded',
    'waits-1 succeeded',
    'waits-2 succeeded'
  ])
  const byJobid = (jobid: string) => jobs.find((job) => job.jobid === jobid)!
  expect(byJobid('waits-1')).toMatchObject({ version: 'r9', settings: { LOG_LEVEL: 'INFO' } })
  const started = ['first', 'waits-1', 'waits-2'].map((jobid) => byJobid(jobid).startedAtMs!)
  expect(started).toEqual([...started].sort())
  expect((await service.client.projects.get({ project: 'demo' })).latestVersion).toBe('r9')
  expect(readFileSync(join(data, 'local', 'logs', 'demo', 'quotes', 'done-1.log'), 'utf8')).toContain(
    'Spider closed (finished)'
  )
})

it('an import leaves a data directory alone while an engine uses it', async () => {
  const directory = makeDirectory()
  writeFileSync(join(directory, 'scrapyd.conf'), '[scrapyd]\nhttp_port = 0\n')
  const nothing = await run(directory, '--data', makeDirectory())
  expect([nothing.code, nothing.output]).toEqual([2, expect.stringContaining('No Scrapyd data found')])
  const service = await startService({ localSlots: 0 })
  onTestFinished(() => service.stop())
  const local = join(service.dataDirectory, 'local')
  writeFileSync(join(local, 'scrapyd.conf'), '[scrapyd]\nhttp_port = 0\n')
  const used = await run(local, '--data', service.dataDirectory)
  expect([used.code, used.output]).toEqual([1, expect.stringContaining('Another Scrapdeck is using')])
})

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { openFileSecretBox } from '../../src/engine/runtime/file-secret-box.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'
import { aSpiderEgg } from '../../src/engine/testing/spider-egg.ts'
import { makeTemporaryDirectory } from '../../src/engine/testing/temporary-directory.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type JobId, ScheduleSettings, StoragePolicy } from '../../src/shared/contract/index.ts'
import { fillOldJobs } from '../support/old-jobs.ts'
import { type Client, SERVICE_ENTRY, type Service, startService } from '../support/service.ts'
import { TALKS } from '../support/talking-spider.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const DAY_MS = 86_400_000
const OLD_JOBS = 240
const ROUNDS = 3
const FILLING = Array.from({ length: 6_000 }, (_, line) => `line ${line} ${(line * 7919) % 104_729}`).join('\n')
const logOf = (index: number) => `The log of run ${index}\n${FILLING}\n`

async function scrapdeck(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  try {
    const given = { cwd: ROOT, maxBuffer: 1e8, env: { ...process.env, HOME: '/nonexistent' } }
    return { code: 0, ...(await promisify(execFile)(process.execPath, [SERVICE_ENTRY, ...words], given)) }
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string }
  }
}

async function aPlace() {
  const directory = await makeTemporaryDirectory()
  onTestFinished(directory.remove)
  const at = (name: string) => join(directory.path, name)
  expect((await scrapdeck('make-key', at('keys'))).code).toBe(0)
  writeFileSync(at('scrapdeck.conf'), `[scrapdeck]\nencryption_key_file = ${at('keys')}\n`)
  return { at, config: `--config=${at('scrapdeck.conf')}` }
}

async function readWholeLog(client: Client, jobId: JobId): Promise<string> {
  let text = ''
  for (let offset = 0; ; ) {
    const part = await client.logs.read({ jobId, offset, limitBytes: 1_000_000 })
    text += part.text
    if (part.nextOffset >= part.sizeBytes) return text
    offset = part.nextOffset
  }
}

function keepBusy(service: Service, egg: File): () => Promise<void> {
  let isOver = false
  const { client } = service
  const again = async (work: (turn: number) => Promise<unknown>) => {
    for (let turn = 0; !isOver; turn += 1) await work(turn)
  }
  const all = Promise.all([
    again(async () =>
      client.jobs
        .run({ project: 'talks', spiders: ['talks'] })
        .then(() => new Promise((wake) => setTimeout(wake, 1_500)))
    ),
    again(async (turn) => {
      await client.projects.upload({ file: egg, project: 'passing', version: `v${turn}` })
      await client.projects.deleteVersion({ project: 'passing', version: `v${turn}` })
    }),
    again(async (turn) => {
      const { revision } = await client.storage.policy()
      const days = 390 - ((turn * 8) % 300)
      const all = { days, perSpider: null, bytes: null }
      const policy = StoragePolicy.parse({ defaults: { jobs: all, logs: all, items: all, eggs: {} } })
      await client.storage.setPolicy({ revision, policy })
      await client.storage.run()
      await until(
        'retention',
        async () => (await client.storage.usage()).retention.state,
        (state) => state === 'idle'
      )
    })
  ])
  return async () => {
    isOver = true
    await all
  }
}

test('a backup that is made under load restores everything in another place', async () => {
  const { at, config } = await aPlace()
  const data = at('data')
  const endedAtMs = (index: number) => Date.now() - (20 + index * 1.5) * DAY_MS
  mkdirSync(data, { mode: 0o700 })
  const ids = await fillOldJobs(
    data,
    Array.from({ length: OLD_JOBS }, (_, index) => ({
      project: 'old',
      spider: `s${index % 5}`,
      endedAtMs: endedAtMs(index),
      log: logOf(index)
    }))
  )
  const index = new Map(ids.map((id, place) => [id as string, place]))
  // This node never responds, so its jobs keep their state.
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  const service = await startService({ dataDirectory: data, arguments: [config] })
  onTestFinished(() => service.stop())
  const { client } = service
  const egg = await aSpiderEgg(TALKS)
  await client.projects.upload({ file: egg, project: 'talks', version: 'r1' })
  await client.users.create({ name: 'ada', role: 'viewer', password: 'gravel harmonica ninety violet' })
  await client.schedules.create(
    ScheduleSettings.parse({
      name: 'nightly',
      zone: 'UTC',
      rules: [{ kind: 'cron', expression: '0 3 1 1 *' }],
      jobs: [{ project: 'talks', spiders: ['talks'] }]
    })
  )
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
  const remote = await client.nodes.add({ url, name: 'far', username: 'u', password: 'a password of a node' })
  await client.jobs.run({ project: 'talks', spiders: ['talks'], priority: 7 })
  const first = (await client.jobs.list({ limit: 1 })).jobs[0]!
  await until(
    'the first run to end',
    async () => (await client.jobs.get({ id: first.id })).job.status,
    (status) => status === 'succeeded'
  )
  await client.jobs.run({ project: 'talks', spiders: ['talks'], nodeId: remote.id })

  const stopLoad = keepBusy(service, egg)
  let deletedMeanwhile = 0
  const rounds: { file: string; before: Set<string> }[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const listed = await client.jobs.list({ limit: 500 })
    const file = at(`backup-${round}`)
    rounds.push({ file, before: new Set(listed.jobs.map(({ id }) => id as string)) })
    const made = await scrapdeck('backup', file, `--data=${data}`, config, '--with-secrets', '--json')
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('copying the database')])
    expect((JSON.parse(made.stdout) as { made: { missing: string[] } }).made.missing).toEqual([])
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    deletedMeanwhile = OLD_JOBS - (await readdir(join(data, 'blobs', 'logs'))).length
  }
  await stopLoad()
  await service.kill()
  // If retention had deleted nothing, the test would prove nothing.
  expect(deletedMeanwhile).toBeGreaterThan(20)
  expect((await readdir(data)).filter((name) => name.startsWith('backup-'))).toEqual([])

  for (const [round, { file, before }] of rounds.entries()) {
    expect((await scrapdeck('backup', '--verify', file, config)).stdout).toContain('The backup is intact')
    const bytes = await readFile(file)
    for (const plain of ['SQLite format 3', 'The log of run', 'shop.settings'])
      expect(bytes.includes(plain)).toBe(false)
    const restored = at(`restored-${round}`)
    const done = await scrapdeck('restore', file, `--data=${restored}`, `--key-file=${at('keys')}`, '--paused')
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('is restored and checked')])
    const there = await startService({ dataDirectory: restored, arguments: [config] })
    onTestFinished(() => there.stop())
    const has = there.client
    const jobs = (await has.jobs.list({ limit: 500 })).jobs
    const got = new Set(jobs.map(({ id }) => id as string))
    // The backup contains everything accepted before it, except what retention could have deleted.
    expect([...before].filter((id) => !got.has(id) && !index.has(id))).toEqual([])
    let readable = 0
    for (const { id, status } of jobs) {
      const place = index.get(id)
      if (place === undefined && status !== 'succeeded') continue
      const { attempts } = await has.jobs.get({ id })
      const deleted = attempts[0]?.logDeletedAtMs ?? null
      if (deleted !== null) continue
      const log = await readWholeLog(has, id)
      if (place === undefined) expect(log).toContain('line 3999 of the talk')
      else expect(log).toBe(logOf(place))
      readable += 1
    }
    expect(readable).toBeGreaterThan(10)
    const { schedules } = await has.schedules.list({})
    expect(schedules.map(({ name }) => name)).toEqual(['nightly'])
    expect((await has.users.list()).users.map(({ name }) => name)).toContain('ada')
    expect((await has.projects.list()).projects.map(({ name }) => name)).toContain('talks')
    const queued = jobs.find(({ nodeId, status }) => nodeId === remote.id || status === 'queued')
    expect(queued).toBeDefined()
    if (round === ROUNDS - 1) {
      await has.system.setPaused({ paused: false })
      const ran = (await has.jobs.run({ project: 'talks', spiders: ['talks'] })).jobs[0]!
      await until(
        'a run there',
        async () => (await has.jobs.get({ id: ran.id })).job.status,
        (status) => status === 'succeeded',
        60_000
      )
    }
    await there.stop()
    const store = await openSqliteStoreHere({
      path: join(restored, 'scrapdeck.sqlite'),
      clock: systemClock,
      logger: silentLogger
    })
    const secrets = await openFileSecretBox(join(restored, 'secret.key'))
    const node = (await store.listNodes()).find(({ name }) => name === 'far')!
    expect(await secrets.open(node.sealedPassword!)).toBe('a password of a node')
    await store.close()
  }
}, 400_000)

test('a backup that was changed, was cut off, or has another key is refused, and leaves nothing behind', async () => {
  const { at, config } = await aPlace()
  const service = await startService({ dataDirectory: at('data'), localSlots: 0, arguments: [config] })
  onTestFinished(() => service.stop())
  const file = at('backup')
  expect((await scrapdeck('backup', file, `--data=${at('data')}`, config)).code).toBe(0)
  const whole = await readFile(file)
  const refuse = async (bytes: Uint8Array, words: string, ...more: string[]) => {
    await writeFile(at('changed'), bytes)
    const { code, stderr } = await scrapdeck('restore', at('changed'), `--data=${at('new')}`, ...more)
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(words)])
    expect(code).not.toBe(0)
    expect((await readdir(at('.'))).filter((name) => /new|restoring/.test(name))).toEqual([])
  }
  const keys = `--key-file=${at('keys')}`
  for (const place of [40, whole.length >> 1, whole.length - 1]) {
    const changed = Buffer.from(whole)
    changed[place]! ^= 1
    await refuse(changed, 'The backup is damaged', keys)
    await refuse(whole.subarray(0, place), 'The backup is damaged', keys)
  }
  await refuse(Buffer.concat([whole, Buffer.from('more')]), 'The backup is damaged', keys)
  await refuse(whole, 'encrypted with the key')
  expect((await scrapdeck('make-key', at('others'))).code).toBe(0)
  await refuse(whole, 'encrypted with the key', `--key-file=${at('others')}`)
  const plain = at('plain')
  expect((await scrapdeck('backup', plain, `--data=${at('data')}`)).stderr).toContain('No encryption key is configured')
  expect((await scrapdeck('backup', plain, `--data=${at('data')}`, '--not-encrypted', '--with-secrets')).code).not.toBe(
    0
  )
  expect((await scrapdeck('backup', plain, `--data=${at('data')}`, '--not-encrypted')).stdout).toContain(
    'NOT encrypted'
  )
  const readable = await readFile(plain)
  await refuse(readable.subarray(0, readable.length >> 1), 'The backup is damaged')
  mkdirSync(at('full'))
  writeFileSync(join(at('full'), 'something'), '')
  const { code, stderr } = await scrapdeck('restore', plain, `--data=${at('full')}`)
  expect([code, stderr, await readdir(at('full'))]).toEqual([6, expect.stringContaining('is not empty'), ['something']])
}, 120_000)

test('an interrupted backup leaves nothing, and the next one removes what a killed backup has left', async () => {
  const { at, config } = await aPlace()
  const data = at('data')
  mkdirSync(data, { mode: 0o700 })
  await fillOldJobs(
    data,
    Array.from({ length: 40 }, (_, index) => ({
      project: 'old',
      spider: 's',
      endedAtMs: 1e12 + index,
      log: logOf(index)
    }))
  )
  const interrupted = async (signal: NodeJS.Signals) => {
    const child = spawn(process.execPath, [SERVICE_ENTRY, 'backup', at('backup'), `--data=${data}`, config], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'pipe']
    })
    await once(child.stderr, 'data')
    child.kill(signal)
    const [code] = (await once(child, 'exit')) as [number | null]
    return code
  }
  const left = async () => [...(await readdir(at('.'))), ...(await readdir(data))].filter((name) => /backup/.test(name))
  expect(await interrupted('SIGTERM')).toBe(130)
  expect(await left()).toEqual([])
  await interrupted('SIGKILL')
  expect(await left()).toEqual([expect.stringMatching(/^backup-/)])
  expect((await scrapdeck('backup', at('backup'), `--data=${data}`, config)).code).toBe(0)
  expect(await left()).toEqual(['backup'])
}, 60_000)

import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../src/engine/testing/temporary-directory.ts'
import { until } from '../../src/engine/testing/until.ts'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { startService } from '../support/service.ts'

const ROUNDS = 10
const HOURLY = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC' }
const PADDING = 'x'.repeat(20_000)

function makeDisk(path: string): (() => void) | null {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0) return null
  mkdirSync(path)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    return null
  }
  return () => void execFileSync('umount', ['-l', path])
}

function fill(path: string): void {
  const file = openSync(path, 'a')
  try {
    for (const page = Buffer.alloc(4_096, 'x'); ; ) writeSync(file, page)
  } catch {
    // The write failed because the disk is full.
  } finally {
    closeSync(file)
  }
}

test('a full disk loses nothing that was acknowledged, and the service continues without a restart once there is space again', async (context) => {
  const place = await makeTemporaryDirectory()
  onTestFinished(place.remove)
  const disk = join(place.path, 'disk')
  const unmount = makeDisk(disk)
  if (unmount === null) return context.skip('no disk can be mounted here')
  onTestFinished(unmount)
  const service = await startService({ dataDirectory: join(disk, 'data'), localSlots: 1 })
  onTestFinished(service.stop)
  const { client } = service
  const egg = new Uint8Array(await buildDemoEgg())
  const acknowledged = { jobs: [] as string[], versions: [] as string[], schedules: [] as string[] }
  const refused: string[] = []
  const attempt = (work: Promise<unknown>) =>
    work.catch((error: { status?: number; message: string }) => refused.push(`${error.status} ${error.message}`))
  const use = async (round: string) => {
    const version = `v${round}`
    const file = new File([egg], 'demo.egg')
    await attempt(
      client.projects.upload({ file, project: 'demo', version }).then(() => acknowledged.versions.push(version))
    )
    const order = { project: 'demo', spiders: ['quotes'], args: { padding: PADDING } }
    await attempt(client.jobs.run(order).then(({ jobs }) => acknowledged.jobs.push(...jobs.map(({ id }) => id))))
    const schedule = { ...HOURLY, name: `s${round}`, jobs: [order] }
    await attempt(client.schedules.create(schedule).then(() => acknowledged.schedules.push(schedule.name)))
  }
  await use('first')
  expect(refused).toEqual([])
  const filler = join(disk, 'filler')
  fill(filler)
  for (let round = 0; round < ROUNDS; round += 1) await use(`full${round}`)
  expect(refused.length).toBeGreaterThanOrEqual(ROUNDS)
  expect(refused.filter((one) => !/^503 .*the disk is full\. Free some space/.test(one))).toEqual([])
  const incoming = join(disk, 'data', 'incoming')
  await until('no part of an upload is left', () => readdirSync(incoming).length === 0)
  rmSync(filler)
  refused.length = 0
  await use('again')
  expect(refused).toEqual([])

  const missing = async () => {
    const { jobs } = await client.jobs.list({})
    const { schedules } = await client.schedules.list({})
    const versions = (await client.projects.list()).projects.flatMap((project) => project.versions)
    const names = [...schedules, ...versions].map((one) => ('name' in one ? one.name : one.version))
    const there = new Set<string>([...jobs.map(({ id }) => id), ...names])
    return Object.values(acknowledged)
      .flat()
      .filter((one) => !there.has(one))
  }
  expect(await missing()).toEqual([])
  const [last] = acknowledged.jobs.slice(-1)
  await until(
    'a job queued afterwards runs',
    async () => (await client.jobs.get({ id: last! as never })).job.outcome,
    (outcome) => outcome === 'succeeded'
  )
  const uploads = async () => {
    const { entries } = await client.audit.list({ operation: 'projects.upload', limit: 500 })
    return entries.filter(({ result }) => result === 'done').length
  }
  await service.kill()
  await service.start()
  expect(await missing()).toEqual([])
  expect(await uploads()).toBe(acknowledged.versions.length)
  expect((await client.audit.verify({})).broken).toBeNull()
}, 300_000)

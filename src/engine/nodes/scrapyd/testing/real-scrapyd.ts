import { aProjectName, aVersionName } from '../../../../shared/testing/ids.ts'
import type { ProjectName } from '../../../../shared/contract/index.ts'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ZipFile } from 'yazl'
import {
  type Scrapyd,
  type ScrapydVersion,
  scrapydProblem,
  startScrapyd
} from '../../../../../e2e/support/scrapyd-fleet.ts'
import { CLOSING_TAIL_BYTES } from '../../../runs/log-parser/closing-stats.ts'
import { judgeOutcome } from '../../../jobs/outcome/outcome.ts'
import { plain } from '../../../../shared/texts/message.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { asWheel } from '../../../testing/archives.ts'
import { anEggToSend } from '../../../testing/egg-to-send.ts'
import { until } from '../../../testing/until.ts'
import type { SeenJob } from '../../node-client.ts'
import { probeNode } from '../probe.ts'
import { classifyRefusal } from '../refusals.ts'
import { createScrapydClient, type ScrapydClient } from '../scrapyd-client.ts'

const DEMO = aProjectName('demo')
const V1_0 = aVersionName('1.0')

const UNLIMITED = { isVersionAsked: true, secretNames: [], limits: null }
const JOB = {
  project: DEMO,
  version: aVersionName('1_0'),
  spider: 'quotes',
  jobid: 'job-1',
  priority: 0,
  settings: {},
  args: {},
  ...UNLIMITED
}

export interface RealScrapyd {
  version: ScrapydVersion
  probedAs: string
  password: string | null
  /** false: tests only that it accepts, runs and lists jobs. */
  isWhole: boolean
}

export function describeRealScrapyd({ version, probedAs, password, isWhole }: RealScrapyd): void {
  const problem = scrapydProblem(version)
  const title = `a real Scrapyd ${version}${problem === null ? '' : `, left out because it cannot run here: ${problem}`}`

  describe.skipIf(problem !== null)(title, () => {
    const username = password === null ? null : 'ünï'
    let scrapyd: Scrapyd
    let client: ScrapydClient
    let egg: Uint8Array

    beforeAll(async () => {
      egg = await demoEgg()
      const credentials = username === null || password === null ? {} : { username, password }
      scrapyd = await startScrapyd({ version, maxProc: 1, ...credentials })
      client = clientFor({ url: scrapyd.url, username, password })
    }, 60_000)

    afterAll(async () => {
      await client?.close()
      await scrapyd?.stop()
    })

    test('takes an egg, lists it, runs a spider with every kind of argument, and its log tells the outcome', async () => {
      expect(await client.daemonStatus()).toMatchObject({ pending: 0, running: 0, finished: 0 })
      expect(await client.addVersion(DEMO, V1_0, anEggToSend(egg))).toEqual({ spiders: 4 })
      expect(await client.listProjects()).toEqual(['demo'])
      expect(await client.listVersions(DEMO)).toEqual(['1_0'])
      expect(await client.listSpiders(DEMO, aVersionName('1_0'))).toEqual(['broken', 'prices', 'quotes', 'slow'])

      const args = { pages: '2', delay: '0.01', note: 'a;b&c=d é "q"' }
      const settings = { LOG_LEVEL: 'DEBUG', USER_AGENT: 'x; y=z & ü' }
      const taken = await client.schedule({ ...JOB, args, settings, priority: 1.5 })
      expect(taken).toEqual({ jobid: 'job-1' })
      const job = await untilFinished('job-1')
      expect(job).toMatchObject({ project: 'demo', spider: 'quotes', jobid: 'job-1', exit: null })
      expect(job.startTime).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
      expect(job.endTime).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)

      const end = await client.readLog(JOB, { offset: -CLOSING_TAIL_BYTES, limitBytes: CLOSING_TAIL_BYTES })
      const tail = new TextDecoder().decode(end?.bytes)
      expect(tail).toContain('x; y=z & ü')
      expect(judgeOutcome({ tail, exit: null, cancelAsked: false })).toMatchObject({
        outcome: 'succeeded',
        reason: plain('finished'),
        counts: { pages: 2, errors: 0 }
      })
      expect(await client.daemonStatus()).toMatchObject({ pending: 0, running: 0, finished: 1 })
    }, 60_000)

    test('gives any range of a log with the size of the whole', async () => {
      const run = { project: DEMO, spider: 'quotes', jobid: 'job-1' }
      const whole = await client.readLog(run, { offset: 0, limitBytes: 1_000_000 })
      const size = whole?.sizeBytes ?? 0
      expect(whole).toMatchObject({ offset: 0, bytes: { length: size } })
      const bytes = Buffer.from(whole?.bytes ?? [])
      const read = async (offset: number, limitBytes: number) => {
        const range = await client.readLog(run, { offset, limitBytes })
        return range && { ...range, bytes: Buffer.from(range.bytes).toString('latin1') }
      }
      const part = (from: number, to: number) => bytes.subarray(from, to).toString('latin1')
      expect(await read(10, 20)).toEqual({ offset: 10, sizeBytes: size, bytes: part(10, 30) })
      expect(await read(-20, 100)).toEqual({ offset: size - 20, sizeBytes: size, bytes: part(size - 20, size) })
      expect(await read(-20, 5)).toEqual({ offset: size - 20, sizeBytes: size, bytes: part(size - 20, size - 15) })
      expect(await read(-size - 500, 10)).toEqual({ offset: 0, sizeBytes: size, bytes: part(0, 10) })
      expect(await read(size, 10)).toEqual({ offset: size, sizeBytes: size, bytes: '' })
      expect(await read(size + 99, 10)).toEqual({ offset: size, sizeBytes: size, bytes: '' })
      expect(await client.readLog({ ...run, jobid: 'none' }, { offset: 0, limitBytes: 10 })).toBeNull()
    })

    test.runIf(isWhole)(
      'takes a pending job back; cancels a running one by a named signal, as its log tells',
      async () => {
        const slow = { ...JOB, spider: 'slow', jobid: 'job-slow', args: { delay: '0.1' } }
        const jobids = ['job-slow', 'job-b', 'job-c']
        for (const jobid of jobids) await client.schedule({ ...slow, jobid })
        const running = await untilSeen('running', 'job-slow')
        expect(running.pid).toBeGreaterThan(0)
        // Up to 1.4, the poller holds the next pending job, and cancel and listjobs do not look there.
        const withdrawn = await client.cancel({ project: DEMO, jobid: 'job-c', signal: 'INT' })
        expect(withdrawn).toEqual({ wasState: 'pending' })
        expect((await client.listJobs()).pending.map((job) => job.jobid)).not.toContain('job-c')
        // Scrapy handles the signal only after its reactor has started.
        await until('the first tick', async () => (await logOf(slow)).includes('Tick 1'))
        const cancel = { project: DEMO, jobid: 'job-slow', signal: 'INT' } as const
        expect(await client.cancel(cancel)).toEqual({ wasState: 'running' })
        await untilFinished('job-slow')
        expect(judgeOutcome({ tail: await logOf(slow), exit: null, cancelAsked: true })).toMatchObject({
          outcome: 'cancelled',
          reason: plain('shutdown')
        })
        expect(await client.cancel(cancel)).toEqual({ wasState: null })
        await until('the last to be killed', async () => {
          await client.cancel({ project: DEMO, jobid: 'job-b', signal: 'KILL' })
          const { pending, running } = await client.listJobs()
          return pending.length === 0 && running.length === 0
        })
      },
      60_000
    )

    test.runIf(isWhole)(
      'says no in words that are told apart',
      async () => {
        const kindOf = async (request: Promise<unknown>) => {
          const error = await request.then(
            () => null,
            (reason) => reason
          )
          expect(error).toMatchObject({ name: 'NodeError', kind: 'refused', delivered: 'no' })
          return classifyRefusal(error.nodeMessage)
        }
        expect(await kindOf(client.schedule({ ...JOB, jobid: 'x', spider: 'nobody' }))).toBe('unknown_spider')
        expect(await kindOf(client.schedule({ ...JOB, jobid: 'x', version: aVersionName('none') }))).toBe(
          'unknown_version'
        )
        expect(await kindOf(client.listSpiders(DEMO, aVersionName('none')))).toBe('unknown_version')
        expect(['unknown_project', 'unknown_version']).toContain(
          await kindOf(client.listSpiders(aProjectName('nothing'), aVersionName('1')))
        )
        expect(['unknown_project', 'unknown_version']).toContain(
          await kindOf(client.schedule({ ...JOB, jobid: 'x', project: aProjectName('nothing') }))
        )
        expect(await kindOf(client.cancel({ project: aProjectName('nothing'), jobid: 'x', signal: 'INT' }))).toBe(
          'unknown_project'
        )
        expect(await kindOf(client.deleteVersion(DEMO, aVersionName('none')))).toBe('unknown_version')
        expect(await kindOf(client.addVersion(DEMO, aVersionName('2'), anEggToSend(Buffer.from('not a zip'))))).toBe(
          'bad_egg'
        )
        expect(await kindOf(client.addVersion(DEMO, aVersionName('3'), anEggToSend(await zip({ 'a.py': '' }))))).toBe(
          'bad_egg'
        )
        const withoutSettings = await zip({ 'EGG-INFO/PKG-INFO': '' })
        expect(await kindOf(client.addVersion(DEMO, aVersionName('4'), anEggToSend(withoutSettings)))).toBe('bad_egg')
        const broken = await zip({
          'EGG-INFO/PKG-INFO': '',
          'EGG-INFO/entry_points.txt': '[scrapy]\nsettings = gone.settings\n'
        })
        expect(await kindOf(client.addVersion(DEMO, aVersionName('5'), anEggToSend(broken)))).toBe('import_failed')
        // Scrapyd keeps a refused egg and would run it as the latest version, so the client removed it.
        expect(await client.listVersions(DEMO)).toEqual(['1_0'])
        expect(await kindOf(client.addVersion(DEMO, V1_0, anEggToSend(broken)))).toBe('import_failed')
        expect(await client.listVersions(DEMO)).toEqual(['1_0'])
        expect(await client.addVersion(DEMO, V1_0, anEggToSend(egg))).toEqual({ spiders: 4 })
      },
      60_000
    )

    test('takes a version that is named like a branch, and runs it', async () => {
      const project = aProjectName('branches')
      const version = aVersionName('r5-feature/x')
      expect(await client.addVersion(project, version, anEggToSend(egg))).toEqual({ spiders: 4 })
      expect(await client.listVersions(project)).toEqual(['r5-feature_x'])
      const run = { project, spider: 'quotes', jobid: 'of-a-branch' }
      await client.schedule({ ...JOB, ...run, version, args: { pages: '1', delay: '0' } })
      await untilFinished('of-a-branch')
      expect(await logOf(run)).toContain('Spider closed (finished)')
      for (const odd of ['.', '..', 'a\\b'].map((name) => aVersionName(name))) {
        expect(await client.addVersion(project, odd, anEggToSend(egg))).toEqual({ spiders: 4 })
        await client.deleteVersion(project, odd)
      }
      await client.deleteVersion(project, version)
    })

    test('takes and lists a wheel as it is', async () => {
      const project = aProjectName('wheels')
      expect(await client.addVersion(project, V1_0, anEggToSend(await asWheel(egg)))).toEqual({ spiders: 4 })
      expect(await client.listSpiders(project, V1_0)).toContain('quotes')
      await client.deleteVersion(project, V1_0)
    })

    test('is recognised by a probe', async () => {
      const address = { url: scrapyd.url, username, password }
      const result = await probeNode({ address, clock: systemClock, logger: silentLogger })
      expect(result).toMatchObject({
        url: scrapyd.url,
        reachable: true,
        health: 'up',
        problem: null,
        scrapydVersion: probedAs,
        running: 0,
        pending: 0,
        projects: ['demo'],
        warnings: password === null ? [expect.stringContaining('No password')] : []
      })
      expect(Math.abs(result.clockOffsetMs ?? Number.NaN)).toBeLessThan(1500)
      if (password === null) return
      const refused = await probeNode({
        address: { ...address, password: 'x' },
        clock: systemClock,
        logger: silentLogger
      })
      expect(refused).toMatchObject({ reachable: true, health: 'unauthorized', scrapydVersion: null })
    })

    test.runIf(isWhole)(
      'forgets a version, and with its last a project',
      async () => {
        await client.addVersion(aProjectName('other'), aVersionName('1'), anEggToSend(egg))
        await client.deleteVersion(DEMO, V1_0)
        expect(await client.listProjects()).toEqual(['other'])
        await client.deleteVersion(aProjectName('other'), aVersionName('1'))
        expect(await client.listProjects()).toEqual([])
      },
      30_000
    )

    async function untilSeen(list: 'pending' | 'running' | 'finished', jobid: string): Promise<SeenJob> {
      const find = async () => (await client.listJobs())[list].find((job) => job.jobid === jobid)
      return (await until(`${jobid} in ${list}`, find)) as SeenJob
    }

    async function untilFinished(jobid: string): Promise<SeenJob> {
      return untilSeen('finished', jobid)
    }

    async function logOf(run: { project: ProjectName; spider: string; jobid: string }): Promise<string> {
      const range = await client.readLog(run, { offset: -CLOSING_TAIL_BYTES, limitBytes: CLOSING_TAIL_BYTES })
      return new TextDecoder().decode(range?.bytes)
    }
  })
}

function clientFor(address: { url: string; username: string | null; password: string | null }): ScrapydClient {
  return createScrapydClient({
    ...address,
    caCertificate: null,
    name: 'real',
    clock: systemClock,
    logger: silentLogger
  })
}

async function demoEgg(): Promise<Uint8Array> {
  const root = resolve(import.meta.dirname, '../../../../../resources/demo')
  const files: Record<string, string> = {
    'EGG-INFO/PKG-INFO': 'Metadata-Version: 1.0\nName: demo\nVersion: 1\n',
    'EGG-INFO/entry_points.txt': '[scrapy]\nsettings = demo.settings\n'
  }
  for (const entry of readdirSync(join(root, 'demo'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.py')) continue
    const path = join(entry.parentPath, entry.name)
    files[relative(root, path).replaceAll('\\', '/')] = readFileSync(path, 'utf8')
  }
  return zip(files)
}

async function zip(files: Record<string, string>): Promise<Uint8Array> {
  const archive = new ZipFile()
  for (const [name, text] of Object.entries(files)) archive.addBuffer(Buffer.from(text), name)
  archive.end()
  const pieces: Buffer[] = []
  archive.outputStream.on('data', (piece: Buffer) => pieces.push(piece))
  await once(archive.outputStream, 'end')
  return Buffer.concat(pieces)
}

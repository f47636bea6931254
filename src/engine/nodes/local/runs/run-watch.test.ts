import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type RunLimits, SECRET_MASK } from '../../../../shared/contract/index.ts'
import { CANCEL_WAITS_MS, limitWaitsOf } from '../../../../shared/run-limits.ts'
import { aProjectName, aVersionName } from '../../../../shared/testing/ids.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { createFakeClock, type FakeClock } from '../../../testing/fake-clock.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../testing/temporary-directory.ts'
import type { ProcessRow } from '../processes/process-table.ts'
import { readLimit } from './run-directory.ts'
import type { Run } from './run-list.ts'
import { RunWatch, SAMPLE_INTERVAL_MS } from './run-watch.ts'
import { render } from '../../../../shared/texts/message.ts'

const LIMIT_WAITS_MS = limitWaitsOf(CANCEL_WAITS_MS)

const MEGABYTE = 1024 * 1024
let directory: TemporaryDirectory
let clock: FakeClock
let running: Run[]
let finished: Run[]
let table: ProcessRow[]
let signals: string[]
let samples: number
let watches: RunWatch[]

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
  clock = createFakeClock()
  running = []
  finished = []
  table = []
  signals = []
  samples = 0
  watches = []
})

afterEach(async () => {
  for (const watch of watches) await watch.close()
  expect(clock.timerCount()).toBe(0)
  await directory.remove()
})

async function open(limitWaitsMs = LIMIT_WAITS_MS): Promise<RunWatch> {
  const watch = await RunWatch.open({
    runs: () => ({ running, finished }),
    signal: async (run, signal) => {
      // What the next engine needs is on disk before the signal is sent.
      signals.push(
        `${run.spec.jobid} ${signal} ${(await readLimit(run.directory)) === null ? 'unrecorded' : 'recorded'}`
      )
    },
    logFileOf: (run) => join(run.directory, 'log'),
    processes: { read: async () => table },
    limitWaitsMs,
    clock,
    logger: silentLogger,
    onSample: () => (samples += 1)
  })
  watches.push(watch)
  return watch
}

async function aRun(jobid: string, pid: number, limits: RunLimits | null = null): Promise<Run> {
  const runDirectory = join(directory.path, jobid)
  await mkdir(runDirectory, { recursive: true })
  const run: Run = {
    spec: {
      project: aProjectName('shop'),
      version: aVersionName('1'),
      spider: 'prices',
      jobid,
      settings: { TOKEN: 'open sesame' },
      args: { page: '1' },
      priority: 0,
      acceptedAtMs: clock.nowMs(),
      secretNames: ['TOKEN'],
      isVersionAsked: true,
      limits
    },
    directory: runDirectory,
    state: 'running',
    child: { pid, startTime: `boot:${pid}` },
    startedAtMs: clock.nowMs(),
    python: null,
    source: null,
    exit: null,
    supervised: true,
    problem: null,
    isPrevented: false,
    checking: null,
    timer: null
  }
  await writeFile(join(runDirectory, 'spec.json'), JSON.stringify(run.spec))
  await writeFile(join(runDirectory, 'launch.json'), 'open sesame')
  running.push(run)
  return run
}

function uses(pid: number, memoryMegabytes: number, cpuSeconds = 0): ProcessRow {
  const ids = { pid, parentPid: 1, groupId: pid, sessionId: pid, startTime: String(pid) }
  return { ...ids, memoryBytes: memoryMegabytes * MEGABYTE, cpuSeconds, childrenCpuSeconds: 0 }
}

function end(run: Run): void {
  running = running.filter((one) => one !== run)
  run.state = 'finished'
  run.exit = { code: 0, signal: null, atMs: clock.nowMs() }
  finished.unshift(run)
}

/** Waits until the watch has read its files, which takes real time, before the fake clock advances again. */
async function pass(durationMs: number): Promise<void> {
  for (let left = durationMs; left > 0; left -= SAMPLE_INTERVAL_MS) {
    await clock.advanceBy(Math.min(left, SAMPLE_INTERVAL_MS))
    for (let turn = 0; turn < 10_000 && clock.timerCount() === 0 && running.length > 0; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
}

describe('usage', () => {
  test('of all runs is sampled in one pass, and no timer is set while nothing runs', async () => {
    const watch = await open()
    expect(clock.timerCount()).toBe(0)
    const [one, other] = [await aRun('a', 100), await aRun('b', 200)]
    watch.wake()
    watch.wake()
    expect(clock.timerCount()).toBe(1)
    table = [uses(100, 40, 1), uses(200, 10)]
    await pass(2_000)
    table = [uses(100, 30, 4), uses(200, 10)]
    await pass(2_000)
    expect(samples).toBe(2)
    expect(watch.usageOf('a').map(({ memoryBytes, cpuShare }) => [memoryBytes / MEGABYTE, cpuShare])).toEqual([
      [40, 0.5],
      [30, 1.5]
    ])
    expect(watch.newestUsage('b')).toMatchObject({ memoryBytes: 10 * MEGABYTE, cpuShare: 0, processes: 1 })
    end(one)
    end(other)
    await pass(2_000)
    expect(clock.timerCount()).toBe(0)
    expect(watch.endOf(one)).toEqual({ limit: null, peakMemoryBytes: 40 * MEGABYTE, cpuSeconds: 4 })
    expect(watch.usageOf('a')).toHaveLength(2)
    one.exit = { ...one.exit!, cpuSeconds: 5.25, maxRssBytes: 60 * MEGABYTE }
    expect(watch.endOf(one)).toMatchObject({ peakMemoryBytes: 60 * MEGABYTE, cpuSeconds: 5.25 })
  })

  test('is kept only for the newest ended runs', async () => {
    const watch = await open()
    for (let at = 0; at < 60; at += 1) await aRun(`run-${at}`, 100 + at)
    table = running.map((run) => uses(run.child!.pid, 1))
    watch.wake()
    await pass(2_000)
    for (const run of [...running].slice(1)) end(run)
    await pass(2_000)
    expect(watch.usageOf('run-59')).toHaveLength(1)
    expect(watch.usageOf('run-1')).toEqual([])
    expect(watch.usageOf('run-0')).toHaveLength(2)
    end(running[0]!)
    await pass(2_000)
  })
})

describe('a limit', () => {
  test('that is hit is recorded before the first signal; then INT, INT and KILL follow until the run has ended', async () => {
    const run = await aRun('a', 100, { memoryMegabytes: 50 })
    const free = await aRun('b', 200)
    const watch = await open()
    table = [uses(100, 50), uses(200, 900)]
    await pass(4_000)
    expect(signals).toEqual([])
    table = [uses(100, 51), uses(200, 900)]
    await pass(2_000)
    expect(signals).toEqual(['a INT recorded'])
    // After a run has received the signal, its usage no longer matters.
    table = [uses(100, 1), uses(200, 900)]
    await pass(28_000)
    expect(signals).toHaveLength(1)
    await pass(4_000)
    expect(signals.slice(1)).toEqual(['a INT recorded'])
    await pass(46_000)
    expect(signals.slice(2)).toEqual(Array(2).fill('a KILL recorded'))
    end(run)
    end(free)
    await pass(2_000)
    expect(render(watch.endOf(run).limit!)).toBe('memory limit of 50 MB (used 51 MB)')
    expect(watch.endOf(free).limit).toBeNull()
  })

  test('that is hit skips no step, however short the waits are', async () => {
    const run = await aRun('a', 100, { wallSeconds: 1 })
    await open([10, 10, 10])
    await pass(8_000)
    expect(signals).toEqual(['a INT recorded', 'a INT recorded', 'a KILL recorded', 'a KILL recorded'])
    end(run)
    await pass(2_000)
  })

  test('on wall time survives a restart: the next engine knows why a run ends, and continues with the signals', async () => {
    const run = await aRun('a', 100, { wallSeconds: 60 })
    const first = await open()
    await pass(40_000)
    await first.close()
    clock.jumpWallBy(19_000)
    const second = await open()
    await pass(2_000)
    expect(signals).toEqual(['a INT recorded'])
    await second.close()
    clock.jumpWallBy(60_000)
    const third = await open()
    expect(render(third.endOf(run).limit!)).toBe('wall time limit of 1 min (ran 1 min 1 s)')
    await pass(2_000)
    expect(signals.slice(1)).toEqual(['a KILL recorded'])
    await third.close()
    end(run)
    const fourth = await open()
    expect(render(fourth.endOf(run).limit!)).toBe('wall time limit of 1 min (ran 1 min 1 s)')
  })

  test('is not the reason for the end of a run that was already being cancelled', async () => {
    const run = await aRun('a', 100, { wallSeconds: 10 })
    const watch = await open()
    await pass(4_000)
    watch.forgetLimits('a')
    await pass(20_000)
    expect(signals).toEqual([])
    end(run)
    await pass(2_000)
    expect(watch.endOf(run).limit).toBeNull()
  })

  test('on silence uses the time at which the log last grew, and one on log size uses its size', async () => {
    const silent = await aRun('silent', 100, { silentSeconds: 30 })
    const loud = await aRun('loud', 200, { logMegabytes: 1 })
    await open()
    const log = join(silent.directory, 'log')
    await writeFile(log, 'a line\n')
    const grow = () => utimes(log, clock.nowMs() / 1000, clock.nowMs() / 1000)
    for (let time = 0; time < 3; time += 1) {
      await pass(20_000)
      await grow()
    }
    expect(signals).toEqual([])
    await writeFile(join(loud.directory, 'log'), 'x'.repeat(MEGABYTE + 1))
    await pass(2_000)
    expect(signals).toEqual(['loud INT recorded'])
    await pass(30_000)
    expect(signals).toContain('silent INT recorded')
    for (const run of [silent, loud]) end(run)
    await pass(2_000)
  })

  const unreadable = { read: () => Promise.reject(new Error('EACCES')) }
  test.each([
    ['does not tell what processes use', null],
    ['tells it only to others', unreadable]
  ])('applies even if the system %s', async (_case, processes) => {
    const run = await aRun('a', 100, { wallSeconds: 1, memoryMegabytes: 16 })
    const watch = await RunWatch.open({
      runs: () => ({ running, finished }),
      signal: async (_run, signal) => signals.push(signal),
      logFileOf: () => '/none',
      processes,
      limitWaitsMs: LIMIT_WAITS_MS,
      clock,
      logger: silentLogger,
      onSample: () => (samples += 1)
    })
    watches.push(watch)
    await pass(2_000)
    expect([signals, samples]).toEqual([['INT'], 0])
    end(run)
    await pass(2_000)
  })
})

describe('secrets', () => {
  const onDisk = async (run: Run) => ({
    spec: JSON.parse(await readFile(join(run.directory, 'spec.json'), 'utf8')),
    launch: await readFile(join(run.directory, 'launch.json'), 'utf8').catch(() => null)
  })

  test('of an ended run are no longer in its files or in memory', async () => {
    const run = await aRun('a', 100)
    const watch = await open()
    await pass(2_000)
    expect((await onDisk(run)).spec.settings.TOKEN).toBe('open sesame')
    end(run)
    await pass(2_000)
    await watch.close()
    const { spec, launch } = await onDisk(run)
    expect([spec.settings.TOKEN, spec.args, launch]).toEqual([SECRET_MASK, { page: '1' }, null])
    expect(JSON.stringify(run.spec)).not.toContain('open sesame')
  })

  test('are also removed when the next engine opens', async () => {
    const run = await aRun('a', 100)
    end(run)
    await (await open()).close()
    expect((await onDisk(run)).spec.settings.TOKEN).toBe(SECRET_MASK)
  })
})

test('a spider that deletes the directory of its run does not escape its limits', async () => {
  const watch = await open()
  const run = await aRun('a', 100, { memoryMegabytes: 50 })
  watch.wake()
  await pass(2_000)
  await rm(run.directory, { recursive: true })
  table = [uses(100, 51)]
  await pass(2_000)
  expect(signals).toEqual(['a INT unrecorded'])
  expect(render(watch.endOf(run).limit!)).toBe('memory limit of 50 MB (used 51 MB)')
})

describe('a jump of the wall clock, or a suspended machine,', () => {
  test('ends no run, and does not count towards limits or waits between signals', async () => {
    const watch = await open([10_000, 10_000, 10_000])
    const log = async (run: Run) => {
      await writeFile(join(run.directory, 'log'), 'line')
      await utimes(join(run.directory, 'log'), new Date(clock.nowMs()), new Date(clock.nowMs()))
    }
    const run = await aRun('a', 100, { wallSeconds: 60, silentSeconds: 30 })
    await log(run)
    watch.wake()
    await pass(20_000)
    for (const jumpMs of [8 * 3_600_000, -9 * 3_600_000]) {
      clock.jumpWallBy(jumpMs)
      await pass(4_000)
      await log(run)
      await pass(12_000)
    }
    expect(signals).toEqual([])
    await pass(8_000)
    expect(signals).toEqual(['a INT recorded'])
    expect(render(watch.endOf(run).limit!)).toBe('wall time limit of 1 min (ran 1 min)')
    clock.jumpWallBy(-3_600_000)
    await pass(10_000)
    expect(signals).toEqual(['a INT recorded', 'a INT recorded'])
    clock.jumpWallBy(7_200_000)
    await pass(6_000)
    expect(signals).toHaveLength(2)
    await pass(6_000)
    expect(signals.slice(2)).toEqual(['a KILL recorded'])
  })

  test('restarts the count of silence of a log', async () => {
    const watch = await open()
    const run = await aRun('a', 100, { silentSeconds: 30 })
    await writeFile(join(run.directory, 'log'), 'line')
    await utimes(join(run.directory, 'log'), new Date(clock.nowMs()), new Date(clock.nowMs()))
    watch.wake()
    await pass(20_000)
    clock.jumpWallBy(-3_600_000)
    await pass(28_000)
    expect(signals).toEqual([])
    await pass(4_000)
    expect(signals).toHaveLength(1)
  })
})

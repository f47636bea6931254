import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { occurrencesOf } from '../../../shared/calendar/index.ts'
import { ScheduleTiming } from '../../../shared/contract/index.ts'
import { aNodeId } from '../../../shared/testing/ids.ts'
import { type FileSchedule, settingsFromFile } from '../fleet-file/form.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { importSchedules, type ImportSource } from './import-schedules.ts'

/** Databases that ScrapydWeb 1.6.0 and Gerapy 0.9.13 wrote, as described in schedules/testing/README.md. */

const WRITTEN = join(import.meta.dirname, 'schedules/testing')
/** When fires.py started: 2026-11-21T16:00:00Z. */
const ASKED_FROM_MS = Date.UTC(2026, 10, 21, 16)

let directory: Awaited<ReturnType<typeof makeTemporaryDirectory>>

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
})
afterEach(() => directory.remove())

/** ScrapydWeb's machine was in Berlin. */
function take(from: ImportSource, path: string, zone: string | null) {
  const { imported } = importSchedules({ from, path, zone })
  const byTask = new Map(imported.map((one) => [/^task (\d+) /.exec(one.origin)?.[1] ?? one.origin, one]))
  const scheduleOf = (id: number): FileSchedule => byTask.get(String(id))!.schedule!
  return { imported, byTask, scheduleOf, notesOf: (id: number) => byTask.get(String(id))!.notes.join('; ') }
}

function firesOf(folder: string): { id: string; times: number[] }[] {
  const lines = readFileSync(join(WRITTEN, folder, 'fires.jsonl'), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line) as { id: string; times: number[] })
}

function ourTimes(schedule: FileSchedule, limit: number): number[] {
  const timing = ScheduleTiming.parse(settingsFromFile(schedule, (name) => aNodeId(name)))
  return occurrencesOf(timing, { afterMs: ASKED_FROM_MS - 1, limit }).map(({ nominalMs }) => nominalMs)
}

const nodesOf = ({ jobs }: FileSchedule) => jobs.map(({ node }) => node)

test('timer tasks fire at the times of the triggers that ScrapydWeb stores for them', () => {
  const { byTask } = take('scrapydweb', join(WRITTEN, 'scrapydweb-1.6.0'), 'Europe/Berlin')
  const compared = firesOf('scrapydweb-1.6.0').filter(({ id }) => byTask.get(id)!.schedule !== null)
  expect(compared).toHaveLength(14)
  for (const { id, times } of compared) {
    expect({ id, times: ourTimes(byTask.get(id)!.schedule!, 30) }).toEqual({ id, times })
  }
})

test('timer tasks keep their arguments, nodes and grace; tasks that are paused, stopped or ended there are paused here', () => {
  const { imported, scheduleOf, notesOf } = take('scrapydweb', join(WRITTEN, 'scrapydweb-1.6.0'), 'Europe/Berlin')
  expect(imported).toHaveLength(17)
  expect(scheduleOf(1)).toMatchObject({ name: 'nightly on weekdays', zone: 'Europe/Berlin', overlap: 'allow' })
  expect(scheduleOf(1).jobs).toMatchObject([
    {
      project: 'shop',
      spiders: ['prices'],
      version: null,
      args: { day: '{{today}', q: 'a=b' },
      settings: {
        CLOSESPIDER_PAGECOUNT: '10',
        DOWNLOAD_DELAY: '2',
        ROBOTSTXT_OBEY: 'False',
        USER_AGENT: expect.stringContaining('Chrome/72.0.3626.109 Safari')
      }
    }
  ])
  expect(scheduleOf(2)).toMatchObject({
    catchUp: 'all',
    jitterSeconds: 30,
    jobs: [{ version: '2_1' }, { version: '2_1' }]
  })
  expect(scheduleOf(17).jobs[0]?.args).toEqual({ json: '{{"a":1}', names: 'ä' })
  // ScrapydWeb sorts its servers, so the second in the settings is its third.
  expect(nodesOf(scheduleOf(2))).toEqual(['127.0.0.1:16801', '127.0.0.1:16803'])
  expect(imported.filter(({ schedule }) => schedule?.paused).map(({ schedule }) => schedule?.name)).toEqual([
    'paused',
    'stopped later',
    'paused later',
    'over'
  ])
  expect(notesOf(9)).toContain('limited to weeks 1-10')
  expect(notesOf(13)).toContain('second "10/*" is not understood')
  // Gerapy does not limit how late a missed run can start.
  expect(scheduleOf(7).catchUpWindowSeconds).toBe(31_622_400)
})

test('a node has the address at which ScrapydWeb last reached it, never that of ScrapydWeb itself', () => {
  const { scheduleOf } = take('scrapydweb', join(WRITTEN, 'scrapydweb-1.6.0'), 'Europe/Berlin')
  expect(nodesOf(scheduleOf(14))).toEqual(['localhost:16802'])
})

test('if the whole scheduler of ScrapydWeb is disabled, everything is paused', () => {
  for (const name of ['timer_tasks.db', 'apscheduler.db'])
    copyFileSync(join(WRITTEN, 'scrapydweb-1.6.0', name), join(directory.path, name))
  copyFileSync(join(WRITTEN, 'scrapydweb-1.6.0/metadata-disabled.db'), join(directory.path, 'metadata.db'))
  const { imported, scheduleOf, notesOf } = take('scrapydweb', directory.path, 'Europe/Berlin')
  expect(imported.every(({ schedule }) => schedule === null || schedule.paused)).toBe(true)
  expect(notesOf(1)).toBe('the scheduler there is disabled, so nothing runs: paused here')
  expect(scheduleOf(3).pauseNote).toBe('Paused in ScrapydWeb')
})

test("Gerapy's tasks fire when the jobs that Gerapy made of them do, even those without a zone or a start", () => {
  const { imported } = take('gerapy', join(WRITTEN, 'gerapy-0.9.13'), null)
  const clients = { one: 'http://127.0.0.1:16801/', two: 'http://localhost:16802/', gone: 'http://10.0.0.9:6800/' }
  const active = imported.flatMap(({ schedule }) => (schedule === null || schedule.paused ? [] : [schedule]))
  const compared: string[] = []
  for (const { id, times } of firesOf('gerapy-0.9.13')) {
    const [, client, spider] = /^(\w+)-shop-(\w+)$/.exec(id)!
    const ours = active.filter(({ jobs }) =>
      jobs.some(({ node, spiders }) => spiders[0] === spider && node === clients[client as keyof typeof clients])
    )
    // Rules cannot express weeks of the year.
    if (spider === 'spider_8') continue
    expect({ id, times: ours.map((one) => ourTimes(one, 30).map(wholeSecond)) }).toEqual({
      id,
      times: [times.map(wholeSecond)]
    })
    compared.push(id)
  }
  expect(compared).toHaveLength(15)
})

test('tasks that Gerapy does not run, without a client or because another replaced them, are paused and reported', () => {
  const { imported, scheduleOf, notesOf } = take('gerapy', join(WRITTEN, 'gerapy-0.9.13'), null)
  expect(imported.filter(({ schedule }) => schedule?.paused).map(({ schedule }) => schedule?.name)).toEqual([
    'every night',
    'no client'
  ])
  expect(notesOf(1)).toBe(
    'Gerapy keeps one job for each client, project and spider, and task 17 has taken its place; so it does not run there: paused here'
  )
  expect(notesOf(3)).toBe("it names no time zone: Asia/Shanghai, which is Gerapy's own")
  expect(nodesOf(scheduleOf(15))).toEqual(['http://127.0.0.1:16801/', 'http://10.0.0.9:6800/'])
  expect(notesOf(8)).toContain('limited to weeks */2')
  expect(notesOf(14)).toBe('')
})

/** The intervals start at a microsecond. Only the start time in the store can be read without unpickling. */
const wholeSecond = (atMs: number): number => Math.floor(atMs / 1_000)

import { expect, it } from 'vitest'
import { CrawlInput } from './crawl.ts'
import { RunInput } from './jobs.ts'
import { ScheduleSettings } from './schedules.ts'

const schedule = (more: object) => ({
  name: 'x',
  zone: 'UTC',
  rules: [{ kind: 'once', atMs: 1 }],
  jobs: [{ project: 'shop', spiders: ['a'] }],
  ...more
})

it('times that no calendar can show are rejected in every request', () => {
  const asked = (atMs: number) => [
    CrawlInput.safeParse({ spider: 'a', schedule_at: atMs }).success,
    RunInput.safeParse({ project: 'shop', spiders: ['a'], notBeforeMs: atMs }).success,
    RunInput.safeParse({ project: 'shop', spiders: ['a'], expiresAtMs: atMs }).success,
    ScheduleSettings.safeParse(schedule({ startMs: atMs })).success,
    ScheduleSettings.safeParse(schedule({ endMs: atMs })).success,
    ScheduleSettings.safeParse(schedule({ rules: [{ kind: 'once', atMs }] })).success,
    ScheduleSettings.safeParse(schedule({ rules: [{ kind: 'interval', everySeconds: 60, anchorMs: atMs }] })).success
  ]
  for (const atMs of [-1, 253_402_300_800_000, 8_640_000_000_000_000]) expect(asked(atMs)).not.toContain(true)
  for (const atMs of [0, 253_402_300_799_999]) expect(asked(atMs)).not.toContain(false)
})

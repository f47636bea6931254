import { aScheduleId } from '../../../../shared/testing/ids.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { occurrencesOf } from '../../../../shared/calendar/index.ts'
import { RunTemplate, type Schedule, type ScheduleSettings } from '../../../../shared/contract/index.ts'
import { aSchedule } from '../../../../shared/testing/builders.ts'
import { jobsOf } from '../schedule-words.ts'
import { crowdedMinutes, planSpread, shiftRule, shiftSchedule } from './spread.ts'

const AT = Date.parse('2026-11-24T03:00:00Z')
const DAY_MS = 86_400_000

function scheduleAt(name: string, expression: string, over: Partial<ScheduleSettings> = {}): Schedule {
  return aSchedule({ name, id: aScheduleId(name.padEnd(32, '0')), rules: [{ kind: 'cron', expression }], ...over })
}

const cron = (expression: string) => ({ kind: 'cron' as const, expression })
const shifted = (expression: string, minutes: number) => {
  const result = shiftRule(cron(expression), minutes)
  return 'rule' in result ? (result.rule as ReturnType<typeof cron>).expression : result.why
}

it('a moved expression looks as if a person had written it', () => {
  expect(shifted('0 3 * * 1-5', 7)).toBe('7 3 * * 1-5')
  expect(shifted('*/15 * * * *', 7)).toBe('7-59/15 * * * *')
  expect(shifted('7-59/15 * * * *', -7)).toBe('*/15 * * * *')
  expect(shifted('0,30 8-18 * * *', 5)).toBe('5,35 8-18 * * *')
  expect(shifted('@daily', 12)).toBe('12 0 * * *')
  expect(shifted('30 0 3 * * *', 4)).toBe('30 4 3 * * *')
})

it('an expression that cannot be moved says why', () => {
  expect(shifted('* * * * *', 3)).toBe('runs every minute')
  expect(shifted('55 3 * * *', 7)).toBe('would leave its hour')
  expect(shiftSchedule(scheduleAt('a', '0 3 * * *', { excludedCrons: ['0 3 1 * *'] }), AT, 5)).toMatchObject({
    why: expect.stringContaining('excluded times')
  })
})

it('a moved rule runs later by exactly that much, each time', () => {
  const minute = fc.oneof(
    fc.integer({ min: 0, max: 59 }).map(String),
    fc.integer({ min: 2, max: 30 }).map((step) => `*/${step}`),
    fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 4 }).map((list) => list.join(','))
  )
  const hour = fc.constantFrom('*', '3', '*/6', '8-18')
  fc.assert(
    fc.property(minute, hour, fc.integer({ min: -20, max: 20 }), (minutes, hours, by) => {
      const rule = cron(`${minutes} ${hours} * * *`)
      const moved = shiftRule(rule, by)
      fc.pre('rule' in moved)
      const at = (rules: (typeof rule)[], afterMs: number) =>
        occurrencesOf(scheduleAt('a', rule.expression, { rules }), { afterMs, limit: 20 }).map(
          ({ nominalMs }) => nominalMs
        )
      if (!('rule' in moved)) return
      expect(at([moved.rule as typeof rule], AT - 1 + by * 60_000)).toEqual(
        at([rule], AT - 1).map((atMs) => atMs + by * 60_000)
      )
    }),
    { numRuns: 60 }
  )
})

it('only the rules that fire in the crowded minute are moved', () => {
  const schedule = scheduleAt('a', '0 3 * * *', { rules: [cron('0 3 * * *'), cron('30 12 * * *')] })
  const moved = shiftSchedule(schedule, AT, 5)
  expect('settings' in moved && moved.settings.rules).toEqual([cron('5 3 * * *'), cron('30 12 * * *')])
})

it('a crowded minute is spread: no job is lost, nothing leaves the window, and no minute gets fuller than the crowd was', () => {
  const crowd = fc.array(
    fc.record({
      spiders: fc.integer({ min: 1, max: 4 }),
      expression: fc.constantFrom('0 3 * * *', '*/10 * * * *', '* * * * *')
    }),
    { minLength: 2, maxLength: 10 }
  )
  const others = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 30 })
  fc.assert(
    fc.property(crowd, others, fc.integer({ min: 1, max: 6 }), (members, jobsAfter, mostJobs) => {
      const schedules = members.map(({ spiders, expression }, index) =>
        scheduleAt(`s${index}`, expression, {
          jobs: [RunTemplate.parse({ project: 'p', spiders: Array.from({ length: spiders }, (_, each) => `x${each}`) })]
        })
      )
      const jobs = schedules.reduce((sum, schedule) => sum + jobsOf(schedule.jobs), 0)
      const load = [jobs, ...jobsAfter].map((each, index) => ({ atMs: AT + index * 60_000, firings: 1, jobs: each }))
      const plan = planSpread(schedules, load, AT, { windowMinutes: 20, mostJobs })
      const sum = (list: readonly number[]) => list.reduce((total, each) => total + each, 0)
      expect(sum(plan.after)).toBe(sum(plan.before))
      expect(plan.moves.length + plan.stays.length).toBe(schedules.length)
      expect(Math.max(...plan.after)).toBeLessThanOrEqual(Math.max(...plan.before, mostJobs))
      for (const { minutes } of plan.moves) expect(minutes > 0 && minutes <= 20).toBe(true)
    }),
    { numRuns: 40 }
  )
})

it('only as many as needed are moved, to the nearest minutes with room', () => {
  const schedules = ['a', 'b', 'c', 'd'].map((name) => scheduleAt(name, '0 3 * * *'))
  const load = [
    { atMs: AT, firings: 4, jobs: 4 },
    { atMs: AT + 60_000, firings: 2, jobs: 2 }
  ]
  const plan = planSpread(schedules, load, AT, { windowMinutes: 10, mostJobs: 2 })
  expect(plan.moves.map(({ minutes }) => minutes)).toEqual([2, 2])
  expect(plan.after.slice(0, 3)).toEqual([2, 2, 2])
})

it('counts one job for each spider, set and combination', () => {
  const template = RunTemplate.parse({
    project: 'p',
    spiders: ['a', 'b'],
    argSets: [{ x: '1' }, { x: '2' }, { x: '3' }],
    matrix: { region: ['eu', 'us'], layer: ['a', 'b'] }
  })
  expect(jobsOf([template])).toBe(24)
})

it('a minute with one schedule is not crowded, however many jobs it creates', () => {
  const load = [
    { atMs: AT, firings: 1, jobs: 90 },
    { atMs: AT + DAY_MS, firings: 2, jobs: 3 }
  ]
  expect(crowdedMinutes(load, 5)).toEqual([load[1]])
})

import type { Problem } from '../../../shared/contract/index.ts'
import { type Message, messageOf, plain, say } from '../../../shared/texts/message.ts'
import { oneProject, projectsAt, projectsOfChain, projectsOfTemplates } from '../../schedules/whose-past.ts'
import type { StoredChain, StoredFiring, StoredSchedule } from '../../model/records.ts'
import type { ChainStore, FiringReader, ScheduleReader } from '../../storage/store.ts'
import { problem } from './problem.ts'

export interface ScheduleTroubles {
  /** Schedules that the scheduler paused although they have not ended. */
  stopped: readonly StoredSchedule[]
  /** Firings of the last day that created no job, newest first, with their schedules. */
  missed: readonly { schedule: StoredSchedule; firings: readonly StoredFiring[] }[]
  /** Schedules whose newest firing could not create jobs. */
  refused: readonly { schedule: StoredSchedule; firing: StoredFiring }[]
  /** Chains that could not create a job after the last run that they should have followed. */
  chains: readonly StoredChain[]
}

export const NO_SCHEDULE_TROUBLES: ScheduleTroubles = { stopped: [], missed: [], refused: [], chains: [] }

const DAY_MS = 86_400_000
const FIRINGS_AT_ONCE = 500
/**
 * The maximum number of firings read per state. A schedule that fails every minute has 1,440 firings a day, which must
 * not hide those of other schedules.
 */
const FIRINGS_READ = 10_000
const STOPPED_READ = 500
const SHOWN_MAX = 20

export async function readScheduleTroubles(
  store: FiringReader & ScheduleReader & ChainStore,
  nowMs: number
): Promise<ScheduleTroubles> {
  const [stopped, missing, failed, all] = await Promise.all([
    store.pageSchedules({ pausedBy: ['failures', 'invalid'] }, { after: null, limit: STOPPED_READ }),
    readFirings(store, 'missed', nowMs - DAY_MS),
    readFirings(store, 'failed', nowMs - DAY_MS),
    store.listChains()
  ])
  const chains = all.filter(({ settings, problem }) => settings.enabled && problem !== null)
  const bySchedule = Map.groupBy([...missing, ...failed], ({ scheduleId }) => scheduleId)
  if (bySchedule.size === 0) return { ...NO_SCHEDULE_TROUBLES, stopped: stopped.schedules, chains }
  const schedules = await store.getSchedules([...bySchedule.keys()])
  const newest = await store.listRecentFirings([...bySchedule.keys()], 1)
  const missed = schedules.map((schedule) => ({
    schedule,
    firings: bySchedule.get(schedule.id)!.filter(({ state }) => state === 'missed')
  }))
  const refused = schedules.flatMap((schedule) => {
    const firing = newest.find(({ scheduleId }) => scheduleId === schedule.id)
    return firing?.state === 'failed' && !schedule.paused ? [{ schedule, firing }] : []
  })
  return { stopped: stopped.schedules, missed: missed.filter(({ firings }) => firings.length > 0), refused, chains }
}

async function readFirings(store: FiringReader, state: 'missed' | 'failed', afterMs: number): Promise<StoredFiring[]> {
  const firings: StoredFiring[] = []
  let before: number | null = null
  for (let read = 0; read < FIRINGS_READ; read += FIRINGS_AT_ONCE) {
    const page: StoredFiring[] = await store.listFirings({ states: [state] }, { before, limit: FIRINGS_AT_ONCE })
    firings.push(...page.filter(({ atMs }) => atMs > afterMs))
    const last = page.at(-1)
    if (last === undefined || page.length < FIRINGS_AT_ONCE || last.atMs <= afterMs) break
    before = last.id
  }
  return firings
}

/** Returns the problems for the overview: the first problems of each kind, and how long ago they happened. */
export function scheduleProblems({ stopped, missed, refused, chains }: ScheduleTroubles, nowMs: number): Problem[] {
  const shown = {
    stopped: stopped.slice(0, SHOWN_MAX),
    missed: missed.slice(0, SHOWN_MAX),
    refused: refused.slice(0, SHOWN_MAX),
    chains: chains.slice(0, SHOWN_MAX)
  }
  return allScheduleProblems(shown, nowMs)
}

/** Without `nowMs`, the messages contain no ages, so they change only when the problems do. */
export function allScheduleProblems(
  { stopped, missed, refused, chains }: ScheduleTroubles,
  nowMs: number | null = null
): Problem[] {
  return [
    ...refused.map(({ schedule, firing }) => {
      const agoMs = nowMs === null ? null : nowMs - firing.atMs
      return problem({
        ...about(schedule, firing.atMs),
        id: `schedule-refused:${schedule.id}`,
        severity: 'error',
        title: say('problem_title.schedule_refused', { schedule: schedule.settings.name }),
        text: say('problem.schedule_refused', { firing: messageOf(firing), agoMs }),
        sinceMs: firing.atMs
      })
    }),
    ...chains.map(({ id, settings, problem: why }) =>
      problem({
        id: `chain-refused:${id}`,
        severity: 'error',
        title: say('problem_title.chain_refused', { chain: settings.name }),
        text: why ?? plain(''),
        project: oneProject(projectsOfChain(settings)),
        mend: 'open_schedules'
      })
    ),
    ...stopped.map((schedule) =>
      problem({
        ...about(schedule, schedule.changedAtMs),
        id: `schedule-paused:${schedule.id}`,
        severity: 'error',
        title: say('problem_title.schedule_paused', { schedule: schedule.settings.name }),
        text: whyPaused(schedule),
        sinceMs: schedule.changedAtMs
      })
    ),
    ...missed.flatMap(splitByMove).map(({ schedule, firings, isFormer }) => {
      const [newest] = firings
      const runs = firings.reduce((sum, firing) => sum + firing.count, 0)
      return problem({
        ...about(schedule, newest!.atMs),
        id: `schedule-missed:${schedule.id}${isFormer ? ':former' : ''}`,
        severity: 'warning',
        title: say('problem_title.schedule_missed', { schedule: schedule.settings.name, runs }),
        text: say('problem.schedule_missed', { firing: messageOf(newest!) }),
        sinceMs: newest!.nominalMs
      })
    })
  ]
}

function whyPaused({ pauseNote: text, pauseNoteCode: code, pauseNoteParams: params, ...of }: StoredSchedule): Message {
  if (text !== null) return messageOf({ text, code, params })
  if (of.pausedBy === 'failures') return say('problem.schedule_paused', { failures: of.failuresInARow })
  return say('problem.schedule_invalid')
}

/** `lateSinceMs`: when schedules began to run late (schedules/watchdog.ts). null: none are late. */
export function lateProblems(lateSinceMs: number | null): Problem[] {
  if (lateSinceMs === null) return []
  return [
    problem({
      id: 'schedules-late',
      severity: 'error',
      title: say('problem_title.schedules_late'),
      text: say('problem.schedules_late'),
      sinceMs: lateSinceMs,
      mend: 'open_schedules'
    })
  ]
}

/** Reports schedules with the same name. All of them keep firing, so the operator must decide which one is right. */
export function namesakeProblems(namesakes: readonly StoredSchedule[]): Problem[] {
  const byName = Map.groupBy(namesakes, ({ settings }) => settings.name)
  return [...byName].slice(0, SHOWN_MAX).map(([name, same]) =>
    problem({
      ...about(same[0]!, Number.POSITIVE_INFINITY),
      project: oneProject(projectsOfTemplates(same.flatMap(({ settings }) => settings.jobs))),
      id: `schedule-name:${name}`,
      severity: 'warning',
      title: say('problem_title.schedule_names', { schedules: same.length, name }),
      text: say('problem.schedule_names')
    })
  )
}

/** Firings missed for a schedule's former projects are reported as separate problems, because other users see them. */
const splitByMove = ({ schedule, firings }: ScheduleTroubles['missed'][number]) =>
  [...Map.groupBy(firings, ({ atMs }) => projectsAt(schedule, atMs) === null)].map(([isFormer, some]) => ({
    schedule,
    firings: some,
    isFormer
  }))

const about = (schedule: StoredSchedule, atMs: number) =>
  ({ project: oneProject(projectsAt(schedule, atMs)), scheduleId: schedule.id, mend: 'open_schedules' }) as const

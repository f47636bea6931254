import { textOfMoment } from '../../fleet-file/form.ts'
import type { GerapyDatabase } from '../../../storage/timer-databases.ts'
import { CRON_FIELDS, readCronTrigger } from './apscheduler.ts'
import {
  boundOf,
  boundsOf,
  type Draft,
  finish,
  type Imported,
  importTasks,
  readLocalTime,
  refused,
  type Row,
  text,
  zoneOr
} from './draft.ts'

const UNIT_SECONDS = { weeks: 604_800, days: 86_400, hours: 3_600, minutes: 60, seconds: 1 } as const

/** Gerapy always uses this time zone (TIME_ZONE in its settings). */
const GERAPY_ZONE = 'Asia/Shanghai'

/**
 * Converts Gerapy's tasks into equivalent schedules. Gerapy keeps one job per client, project and spider, so only the
 * last of several such tasks runs.
 */
export function importGerapy(database: GerapyDatabase, zone: string | null, anyNode: boolean): Imported[] {
  const clients = new Map(database.clients.map((client) => [String(client['id']), clientOf(client)]))
  const runs = new Map<string, Row>()
  for (const task of database.tasks) for (const job of jobNames(task, clients)) runs.set(job, task)
  const context = { clients, runs, jobs: database.jobs }
  return importTasks(database.tasks, (origin, task) => importTask(origin, task, context, zone, anyNode))
}

function importTask(
  origin: string,
  task: Row,
  { clients, runs, jobs }: TaskContext,
  standardZone: string | null,
  anyNode: boolean
): Imported {
  const given = readConfiguration(text(task['configuration']))
  const zone = zoneOr(given['timezone'], standardZone ?? GERAPY_ZONE)
  if (zone === null) return refused(origin, `its time zone "${given['timezone']}" is unknown`)
  const notes = given['timezone']
    ? []
    : [`it names no time zone: ${zone}${zone === GERAPY_ZONE ? ", which is Gerapy's own" : ''}`]
  const names = jobNames(task, clients)
  const nextMs = names.map((name) => (runs.get(name) === task ? Date.parse(`${jobs.get(name)}Z`) : Number.NaN))
  const timing = timingOf(text(task['trigger']), given, zone, nextMs.find((atMs) => !Number.isNaN(atMs)) ?? null)
  if (timing === null) return refused(origin, 'one of its dates is not a time', notes)
  const template = { project: text(task['project']), spiders: [text(task['spider'])] }
  const chosen = anyNode ? [null] : clientsOf(task, clients, notes)
  const draft: Draft = {
    name: text(task['name']) || `${template.project} ${template.spiders[0]}`,
    zone,
    ...timing,
    jobs: chosen.map((node) => ({ ...template, node })),
    overlap: 'allow',
    catchUp: 'last',
    // APScheduler skips runs that would start later than this.
    catchUpWindowSeconds: 1
  }
  const later = names.map((name) => runs.get(name)!).filter((other) => other !== task)
  if (later.length > 0) {
    const which = [...new Set(later.map((other) => `task ${text(other['id'])}`))].join(', ')
    notes.push(`Gerapy keeps one job for each client, project and spider, and ${which} has taken its place`)
  }
  if (later.length === names.length) {
    notes.push('so it does not run there: paused here')
    Object.assign(draft, { paused: true, pauseNote: 'It did not run in Gerapy' })
  }
  return finish(origin, draft, notes)
}

function timingOf(trigger: string, given: Record<string, string>, zone: string, nextMs: number | null): object | null {
  const dates = { start: given['start_date'], end: given['end_date'] }
  if (trigger === 'date') {
    const once = boundOf(given['run_date'], zone)
    return once ? { rules: [{ once }] } : null
  }
  if (trigger === 'interval') {
    const every = Object.entries(UNIT_SECONDS).reduce((sum, [unit, size]) => sum + Number(given[unit] ?? 0) * size, 0)
    const bounds = boundsOf(dates, null, zone)
    if (bounds === null) return null
    const startMs = given['start_date'] ? readLocalTime(given['start_date'], zone) : null
    // Without a start, the interval counts from the time when Gerapy started, so align it with the next run.
    const fromMs = startMs ?? nextMs
    return { rules: [{ every, ...(fromMs === null ? {} : { from: textOfMoment(fromMs) }) }], ...bounds }
  }
  if (trigger !== 'cron') throw new Error(`its trigger is "${trigger}"`)
  const fields = CRON_FIELDS.filter((field) => given[field])
  const { expressions, years } = readCronTrigger(Object.fromEntries(fields.map((field) => [field, given[field]])))
  const bounds = boundsOf(dates, years, zone)
  return bounds === null ? null : { rules: expressions.map((cron) => ({ cron })), ...bounds }
}

function readConfiguration(json: string): Record<string, string> {
  const parsed: unknown = json === '' ? {} : JSON.parse(json)
  if (typeof parsed !== 'object' || parsed === null) throw new Error('its configuration cannot be read')
  const set = Object.entries(parsed).filter(([, value]) => value !== null && value !== '' && value !== 0)
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]))
}

interface Client {
  name: string
  url: string
}

interface TaskContext {
  clients: Map<string, Client>
  /** The last task for each job name. Gerapy runs only this task. */
  runs: Map<string, Row>
  jobs: GerapyDatabase['jobs']
}

function clientOf({ name, ip, port }: Row): Client {
  return { name: text(name), url: `http://${text(ip)}:${port === null ? 6800 : Number(port)}/` }
}

function jobNames(task: Row, clients: Map<string, Client>): string[] {
  const known = idsOf(task).flatMap((id) => clients.get(id) ?? [])
  return known.map(({ name }) => `${name}-${text(task['project'])}-${text(task['spider'])}`)
}

const idsOf = (task: Row): string[] => [...text(task['clients']).matchAll(/\d+/g)].map(([id]) => id)

/** null: any node. */
function clientsOf(task: Row, clients: Map<string, Client>, notes: string[]): (string | null)[] {
  const ids = idsOf(task)
  const unknown = ids.filter((id) => !clients.has(id))
  for (const id of unknown) notes.push(`its client ${id} is gone there: left out`)
  const known = ids.filter((id) => clients.has(id)).map((id) => clients.get(id)!.url)
  if (known.length > 0) return known
  notes.push('it has no client there: any node')
  return [null]
}

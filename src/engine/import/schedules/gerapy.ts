import { textOfMoment } from '../../fleet-file/form.ts'
import { CRON_FIELDS, readCronTrigger } from './apscheduler.ts'
import { boundOf, boundsOf, type Draft, finish, type Imported, refused, zoneOr } from './draft.ts'
import { readLocalTime } from './local-time.ts'

type Row = Record<string, unknown>

const UNIT_SECONDS = { weeks: 604_800, days: 86_400, hours: 3_600, minutes: 60, seconds: 1 } as const

/**
 * Gerapy's tasks as schedules that do the same: a job on each client that was chosen, started also while the one before runs. Gerapy
 * gives spiders no arguments. `zone`: of tasks that name none.
 */
export function importGerapy(database: { tasks: Row[]; clients: Row[] }, zone: string, anyNode: boolean): Imported[] {
  const clients = new Map(
    database.clients.map(({ id, ip, port }) => [
      String(id),
      `http://${String(ip)}:${port === null ? 6800 : Number(port)}/`
    ])
  )
  return database.tasks.map((task) => {
    const name = text(task['name'])
    const origin = `task ${text(task['id'])} (${name || `${text(task['project'])}/${text(task['spider'])}`})`
    try {
      return importTask(origin, task, clients, zone, anyNode)
    } catch (error) {
      return refused(origin, (error as Error).message)
    }
  })
}

function importTask(
  origin: string,
  task: Row,
  clients: Map<string, string>,
  standardZone: string,
  anyNode: boolean
): Imported {
  const given = readConfiguration(text(task['configuration']))
  const zone = zoneOr(given['timezone'], standardZone)
  if (zone === null) return refused(origin, `its time zone "${given['timezone']}" is not known`)
  const notes = given['timezone'] ? [] : [`it names no time zone: ${zone}, where Gerapy took its server's`]
  const timing = timingOf(text(task['trigger']), given, zone)
  if (timing === null) return refused(origin, 'one of its dates is no time', notes)
  const template = { project: text(task['project']), spiders: [text(task['spider'])] }
  const chosen = anyNode ? [null] : clientsOf(text(task['clients']), clients, notes)
  const draft: Draft = {
    name: text(task['name']) || `${template.project} ${template.spiders[0]}`,
    zone,
    ...timing,
    jobs: chosen.map((node) => ({ ...template, node })),
    overlap: 'allow',
    catchUp: 'last',
    // APScheduler's own grace: what is later than that it leaves out.
    catchUpWindowSeconds: 1
  }
  return finish(origin, draft, notes)
}

function timingOf(trigger: string, given: Record<string, string>, zone: string): object | null {
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
    return { rules: [{ every, ...(startMs === null ? {} : { from: textOfMoment(startMs) }) }], ...bounds }
  }
  if (trigger !== 'cron') throw new Error(`its trigger is "${trigger}"`)
  const fields = CRON_FIELDS.filter((field) => given[field])
  const { expressions, years } = readCronTrigger(Object.fromEntries(fields.map((field) => [field, given[field]])))
  const bounds = boundsOf(dates, years, zone)
  return bounds === null ? null : { rules: expressions.map((cron) => ({ cron })), ...bounds }
}

/** Only what is set counts there, too: an empty text is not. */
function readConfiguration(json: string): Record<string, string> {
  const parsed: unknown = json === '' ? {} : JSON.parse(json)
  if (typeof parsed !== 'object' || parsed === null) throw new Error('its configuration is not understood')
  const set = Object.entries(parsed).filter(([, value]) => value !== null && value !== '' && value !== 0)
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]))
}

/** `[1, 2]`, the ids of clients. null: any node. */
function clientsOf(json: string, clients: Map<string, string>, notes: string[]): (string | null)[] {
  const ids = [...json.matchAll(/\d+/g)].map(([id]) => id)
  const unknown = ids.filter((id) => !clients.has(id))
  for (const id of unknown) notes.push(`its client ${id} is gone there: left out`)
  const known = ids.filter((id) => clients.has(id)).map((id) => clients.get(id)!)
  if (known.length > 0) return known
  notes.push('it has no client there: any node, once')
  return [null]
}

const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value))

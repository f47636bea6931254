import type { ScrapydWebDatabases } from '../../../storage/timer-databases.ts'
import { CRON_FIELDS, type CronTrigger, readCronTrigger } from './apscheduler.ts'
import {
  boundsOf,
  type Draft,
  finish,
  type Imported,
  importTasks,
  literal,
  refused,
  type Row,
  text,
  zoneOr
} from './draft.ts'

const LATEST = 'default: the latest version'
const WINDOW_MAX_SECONDS = 31_622_400

/** Converts ScrapydWeb's timer tasks into equivalent schedules. `zone` is for tasks without one. */
export function importScrapydWeb(databases: ScrapydWebDatabases, zone: string, anyNode: boolean): Imported[] {
  return importTasks(databases.tasks, (origin, task) => importTask(origin, task, databases, zone, anyNode))
}

function importTask(
  origin: string,
  task: Row,
  { nodes, isSet, areDisabled }: ScrapydWebDatabases,
  standardZone: string,
  anyNode: boolean
): Imported {
  if (task['trigger'] !== 'cron') return refused(origin, `its trigger is "${text(task['trigger'])}"`)
  const notes: string[] = []
  const zone = zoneOr(task['timezone'], standardZone)
  if (zone === null) return refused(origin, `its time zone "${text(task['timezone'])}" is unknown`)
  if (!text(task['timezone'])) notes.push(`it names no time zone: ${zone}, where ScrapydWeb took its server's`)
  const trigger = readTrigger(task)
  const bounds = boundsOf({ start: task['start_date'], end: task['end_date'] }, trigger.years, zone)
  if (bounds === null) return refused(origin, 'its start or end date is not a time')
  const { settings, args } = readArguments(text(task['settings_arguments']))
  const version = text(task['version'])
  const template = { project: text(task['project']), spiders: [text(task['spider'])], settings, args }
  const chosen = anyNode ? [null] : nodesOf(text(task['selected_nodes'] ?? task['selected_node_names']), nodes, notes)
  const graceSeconds = typeof task['misfire_grace_time'] === 'number' ? task['misfire_grace_time'] : WINDOW_MAX_SECONDS
  const draft: Draft = {
    name: text(task['name']) || `task_${text(task['id'])}`,
    zone,
    rules: trigger.expressions.map((cron) => ({ cron })),
    ...bounds,
    jobs: chosen.map((node) => ({ ...template, node, version: version === '' || version === LATEST ? null : version })),
    overlap: 'allow',
    catchUp: text(task['coalesce']) === 'False' ? 'all' : 'last',
    catchUpWindowSeconds: Math.min(graceSeconds, WINDOW_MAX_SECONDS),
    jitterSeconds: Math.min(Math.max(0, Number(task['jitter'] ?? 0)), 86_400)
  }
  const state = isSet?.get(text(task['id']))
  if (isSet !== null && state !== true) {
    draft['paused'] = true
    draft['pauseNote'] = state === false ? 'Paused in ScrapydWeb' : 'It had no next run in ScrapydWeb'
    notes.push(state === false ? 'it is paused there, and here' : 'it has no next run there: paused here')
  }
  if (areDisabled) {
    draft['paused'] = true
    draft['pauseNote'] ??= 'The scheduler of ScrapydWeb was disabled'
    notes.push('the scheduler there is disabled, so nothing runs: paused here')
  }
  return finish(origin, draft, notes)
}

function readTrigger(task: Row): CronTrigger {
  return readCronTrigger(Object.fromEntries(CRON_FIELDS.map((field) => [field, text(task[field]) || '*'])))
}

/** Reads `{"setting": ["A=b"], "name": "value"}`. */
function readArguments(json: string): { settings: Record<string, string>; args: Record<string, string> } {
  const parsed: unknown = json === '' ? {} : JSON.parse(json)
  if (typeof parsed !== 'object' || parsed === null) throw new Error('its settings and arguments cannot be read')
  const settings: [string, string][] = []
  const args: [string, string][] = []
  for (const [name, value] of Object.entries(parsed)) {
    if (name === 'setting') {
      for (const line of [value].flat()) {
        const [, key, setting] = /^([^=]+)=(.*)$/s.exec(String(line)) ?? []
        if (key !== undefined && setting !== undefined) settings.push([key.trim(), literal(setting)])
      }
    } else if (name !== 'jobid' && name !== '_version') args.push([name, literal(String(value))])
  }
  return { settings: Object.fromEntries(settings), args: Object.fromEntries(args) }
}

/**
 * Returns the addresses of the chosen nodes. null: any node. `chosen` contains positions in ScrapydWeb's server list,
 * such as `[1, 3]`. That list is not stored, so the addresses come from past runs.
 */
function nodesOf(chosen: string, nodes: ScrapydWebDatabases['nodes'], notes: string[]): (string | null)[] {
  const numbers = [...chosen.matchAll(/\d+/g)].map(([number]) => Number(number))
  const unknown = numbers.filter((number) => !nodes.has(number))
  if (numbers.length === 0 || unknown.length > 0) {
    const which =
      unknown.length === 0 ? 'no node is named' : `it cannot be determined which node ${unknown.join(', ')} is`
    notes.push(`${which}, since it has not run: any node, once`)
    return [null]
  }
  return numbers.map((number) => nodes.get(number)!)
}

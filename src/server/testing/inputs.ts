import { contract, listOperations } from '../../shared/contract/index.ts'
import { exampleOf } from '../../shared/examples/operations.ts'
import type { Ids } from './two-projects.ts'

const OPERATIONS = listOperations(contract)

export const NOTHING: Ids = {
  job: 'f'.repeat(32),
  queued: 'e'.repeat(32),
  schedule: 'd'.repeat(32),
  chain: 'c'.repeat(32),
  order: 'b'.repeat(32),
  errorGroup: '999999',
  alertRule: '9'.repeat(32),
  alertSilence: '8'.repeat(32),
  alert: '7'.repeat(32)
}

/** Returns the example input of an operation, with these ids and names in the fields that refer to something. */
export function inputWith(name: string, project: string, ids: Ids): unknown {
  const { about } = OPERATIONS.get(name)!['~orpc'].meta
  const input = { ...(exampleOf(name)?.input as Record<string, unknown>) }
  if (typeof about === 'string') return input
  const run = { project, spiders: ['x'] }
  const values: Record<string, unknown> = {
    project,
    run,
    job: ids.job,
    jobs: [ids.job, ids.queued],
    place: { before: ids.queued },
    dependencies: undefined,
    schedule: ids.schedule,
    schedules: [ids.schedule],
    crawlOrder: ids.order,
    chain: ids.chain,
    errorGroup: Number(ids.errorGroup),
    errorGroups: [Number(ids.errorGroup)],
    maybeProject: project,
    alertRule: ids.alertRule,
    alertSilence: ids.alertSilence,
    alert: ids.alert,
    alerts: [ids.alert],
    alertRules: [ids.alertRule],
    alertSilences: [ids.alertSilence],
    environment: project,
    runs: [name === 'jobs.runMany' ? { project, spider: 'x' } : run]
  }
  for (const [field, noun] of Object.entries(about))
    if ((noun as string) in values) input[field] = values[noun as string]
  return input
}

import type {
  AlertId,
  AlertRuleId,
  AlertSilenceId,
  ChainId,
  ErrorGroupId,
  JobId,
  NamedThing,
  NodeId,
  ProjectName,
  QueuePlace,
  ScheduleId
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { JOB_ID_PATTERN } from '../../../shared/id-patterns.ts'
import { type Permissions, READ } from '../../../shared/permissions.ts'
import {
  type Principal,
  requirePermissionEverywhere,
  requirePermissionIn,
  requirePermissionOnNode
} from '../../access/principal.ts'
import { areSeen, permissionsOnNode } from '../../access/rights.ts'
import type { Environments } from '../../nodes/local/pythons/environments.ts'
import { type Fleet, noNode } from '../../nodes/fleet.ts'
import { notFound as noSchedule } from '../../schedules/scheduler.ts'
import { noJob } from '../../storage/require-job.ts'
import type { AlertStore, ChainStore, ErrorStore, JobReader, ScheduleReader } from '../../storage/store.ts'
import type { Alerts } from '../../monitoring/alerts/alerts.ts'
import { noAlert, noAlertRule, noSilence } from '../commands/alert-commands.ts'
import { noChain } from '../commands/chain-commands.ts'
import { noErrorGroup } from '../../runs/log-collector/error-groups.ts'
import { noEnvironment } from '../../nodes/local/pythons/environments.ts'
import { noProject } from '../../projects/catalog.ts'
import { projectsOfChain, projectsOfTemplates } from '../../schedules/whose-past.ts'

export interface SubjectReads {
  store: Pick<JobReader, 'getJobs'> &
    Pick<ScheduleReader, 'getSchedules'> &
    Pick<ChainStore, 'listChains'> &
    Pick<ErrorStore, 'projectsOfErrorGroups'> &
    Pick<AlertStore, 'getAlerts'>
  alerts: Pick<Alerts, 'rules' | 'silences'>
  environments: Pick<Environments, 'list'>
  fleet: Pick<Fleet, 'get'>
}

interface Caller {
  principal: Principal
  needs: Permissions
  what: string
}

interface Run {
  project?: ProjectName | undefined
  after?: { jobId: JobId }[] | undefined
}

type ProjectsById<Id> = Map<Id, readonly ProjectName[]>

/**
 * Checks the things that `fields` name. Things of hidden projects count as missing: a single id is refused with
 * …_NOT_FOUND, and a list is shortened. Rejects with ROLE_REQUIRED for things that the caller may only see.
 */
export async function narrowToSeen(
  fields: Record<string, unknown>,
  about: Readonly<Record<string, NamedThing>>,
  caller: Caller,
  reads: SubjectReads
): Promise<void> {
  for (const [name, noun] of Object.entries(about)) {
    const value = fields[name]
    if (value !== undefined || noun === 'newNode') fields[name] = await CHECKS[noun](value as never, caller, reads)
    else if (noun === 'project') throw new ScrapdeckError('BAD_INPUT', sentence('api.project_missing_in', { name }))
  }
}

const CHECKS: { [Noun in NamedThing]: (value: never, caller: Caller, reads: SubjectReads) => unknown } = {
  project: (name: ProjectName, caller) => one(name, new Map([[name, [name]]]), noProject, caller),
  maybeProject: (name: ProjectName | null, caller) => {
    if (name === null) requirePermissionEverywhere(caller.principal, caller.needs, caller.what)
    else one(name, new Map([[name, [name]]]), noProject, caller)
    return name
  },
  run: (run: Run, caller, reads) => checkRun(run, caller, reads),
  runs: async (runs: Run[], caller, reads) => {
    for (const run of runs) await checkRun(run, caller, reads)
    return runs
  },
  dependencies: (after: NonNullable<Run['after']>, caller, reads) => checkDependencies(after, caller, reads),
  job: async (id: JobId, caller, reads) => one(id, await projectsOfJobs([id], reads), noJob, caller),
  jobs: async (ids: JobId[], caller, reads) => several(ids, await projectsOfJobs(ids, reads), caller),
  place: async (place: QueuePlace, caller, reads) => {
    if (typeof place === 'object') one(place.before, await projectsOfJobs([place.before], reads), noJob, caller)
    return place
  },
  schedule: async (id: ScheduleId, caller, reads) =>
    one(id, await projectsOfSchedules([id], reads), noSchedule, caller),
  schedules: async (ids: ScheduleId[], caller, reads) => several(ids, await projectsOfSchedules(ids, reads), caller),
  crawlOrder: async (id: JobId & ScheduleId, caller, reads) => {
    const ids = JOB_ID_PATTERN.test(id) ? [id] : []
    const found = new Map([...(await projectsOfSchedules(ids, reads)), ...(await projectsOfJobs(ids, reads))])
    return one(id, found, noSchedule, caller)
  },
  chain: async (id: ChainId, caller, { store }) => {
    const chains = (await store.listChains()).map(({ id: of, settings }) => [of, projectsOfChain(settings)] as const)
    return one(id, new Map(chains), noChain, caller)
  },
  errorGroup: async (id: ErrorGroupId, caller, { store }) =>
    one(id, await projectsOfGroups([id], store), noErrorGroup, caller),
  errorGroups: async (ids: ErrorGroupId[], caller, { store }) =>
    several(ids, await projectsOfGroups(ids, store), caller),
  alertRule: (id: AlertRuleId, caller, { alerts }) =>
    oneOfScope(
      id,
      alerts.rules().find((rule) => rule.id === id),
      noAlertRule,
      caller
    ),
  alertSilence: (id: AlertSilenceId, caller, { alerts }) =>
    oneOfScope(
      id,
      alerts.silences().find((silence) => silence.id === id),
      noSilence,
      caller
    ),
  alert: async (id: AlertId, caller, { store }) =>
    oneOfScope(id, (await store.getAlerts([id]))[0]?.labels, noAlert, caller),
  alerts: async (ids: AlertId[], caller, { store }) =>
    severalOfScope(ids, new Map((await store.getAlerts(ids)).map(({ id, labels }) => [id, labels])), caller),
  alertRules: (ids: AlertRuleId[], caller, { alerts }) =>
    severalOfScope(ids, new Map(alerts.rules().map((rule) => [rule.id, rule])), caller),
  alertSilences: (ids: AlertSilenceId[], caller, { alerts }) =>
    severalOfScope(ids, new Map(alerts.silences().map((silence) => [silence.id, silence])), caller),
  environment: (id: string, caller, { environments }) =>
    one(id, new Map(environments.list().map(({ id: of, projects }) => [of, projects])), noEnvironment, caller),
  node: (id: NodeId, { principal, needs, what }, { fleet }) => {
    const tags = fleet.get(id)?.stored.tags
    if (tags === undefined || permissionsOnNode(principal.rights, tags) === null) throw noNode(id)
    requirePermissionOnNode(principal, tags, needs, what)
    return id
  },
  newNode: (tags: string[] | undefined, { principal, needs, what }) => {
    requirePermissionOnNode(principal, tags ?? [], needs, what)
    return tags
  }
}

function one<Id extends string | number>(
  id: Id,
  found: ProjectsById<Id>,
  missing: (id: Id) => ScrapdeckError,
  { principal, needs, what }: Caller
): Id {
  const projects = found.get(id)
  if (projects === undefined || !areSeen(projects, principal.rights)) throw missing(id)
  // Things that no project uses, such as the main environment, belong to the whole service.
  if (projects.length === 0 && needs !== READ) requirePermissionEverywhere(principal, needs, what)
  for (const project of projects) requirePermissionIn(principal, project, needs, what)
  return id
}

function several<Id>(ids: Id[], found: ProjectsById<Id>, { principal, needs, what }: Caller): Id[] {
  const seen = ids.filter((id) => found.has(id) && areSeen(found.get(id)!, principal.rights))
  for (const project of new Set(seen.flatMap((id) => found.get(id)!)))
    requirePermissionIn(principal, project, needs, what)
  return seen
}

async function checkRun(run: Run, caller: Caller, reads: SubjectReads): Promise<Run> {
  if (run.project === undefined) throw new ScrapdeckError('BAD_INPUT', sentence('api.project_missing'))
  one(run.project, new Map([[run.project, [run.project]]]), noProject, caller)
  if (run.after !== undefined) await checkDependencies(run.after, caller, reads)
  return run
}

/** The caller only needs the right to see these jobs. */
async function checkDependencies<After extends { jobId: JobId }[]>(
  after: After,
  { principal, what }: Caller,
  reads: SubjectReads
): Promise<After> {
  const found = await projectsOfJobs(
    after.map(({ jobId }) => jobId),
    reads
  )
  for (const { jobId } of after) one(jobId, found, noJob, { principal, what, needs: READ })
  return after
}

async function projectsOfJobs<Id extends JobId>(ids: Id[], { store }: SubjectReads): Promise<ProjectsById<Id>> {
  return new Map((await store.getJobs(ids)).map(({ id, project }) => [id as Id, [project]]))
}

async function projectsOfSchedules<Id extends ScheduleId>(
  ids: Id[],
  { store }: SubjectReads
): Promise<ProjectsById<Id>> {
  const schedules = await store.getSchedules(ids)
  return new Map(schedules.map(({ id, settings }) => [id as Id, projectsOfTemplates(settings.jobs)]))
}

async function projectsOfGroups(
  ids: ErrorGroupId[],
  store: SubjectReads['store']
): Promise<ProjectsById<ErrorGroupId>> {
  return new Map((await store.projectsOfErrorGroups(ids)).map(({ id, project }) => [id, [project]]))
}

/** Things without a project are visible only to users who see all projects. */
const isScopeSeen = ({ project }: { project: ProjectName | null }, { rights }: Principal): boolean =>
  project === null ? rights.everywhere !== null : areSeen([project], rights)

function oneOfScope<Id>(
  id: Id,
  found: { project: ProjectName | null } | undefined,
  missing: (id: Id) => ScrapdeckError,
  { principal, needs, what }: Caller
): Id {
  if (found === undefined || !isScopeSeen(found, principal)) throw missing(id)
  if (found.project === null) requirePermissionEverywhere(principal, needs, what)
  else requirePermissionIn(principal, found.project, needs, what)
  return id
}

function severalOfScope<Id>(ids: Id[], found: ReadonlyMap<Id, { project: ProjectName | null }>, caller: Caller): Id[] {
  const seen = ids.filter((id) => found.has(id) && isScopeSeen(found.get(id)!, caller.principal))
  const projects = new Map(seen.map((id) => [id, [found.get(id)!.project].filter((one) => one !== null)]))
  if ([...projects.values()].some((each) => each.length === 0))
    requirePermissionEverywhere(caller.principal, caller.needs, caller.what)
  return several(ids, projects, caller)
}

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

/** The caller of `what`, who needs these permissions in the projects of everything that it names. */
interface Asking {
  principal: Principal
  needs: Permissions
  what: string
}

interface Run {
  project?: ProjectName | undefined
  after?: { jobId: JobId }[] | undefined
}

/** The projects of each thing that there is. */
type ProjectsById<Id> = Map<Id, readonly ProjectName[]>

/**
 * Checks what `fields` name. What is of projects that the caller may not see is answered as if it were not there, and
 * left out where several things are named: this and what is not there take the same way. Rejects with ROLE_REQUIRED for
 * what may only be seen, and with a …_NOT_FOUND.
 */
export async function narrowToSeen(
  fields: Record<string, unknown>,
  about: Readonly<Record<string, NamedThing>>,
  asking: Asking,
  reads: SubjectReads
): Promise<void> {
  for (const [name, noun] of Object.entries(about)) {
    const value = fields[name]
    if (value !== undefined || noun === 'newNode') fields[name] = await CHECKS[noun](value as never, asking, reads)
    else if (noun === 'project') throw new ScrapdeckError('BAD_INPUT', `Name the project ("${name}")`)
  }
}

/** Each returns what of the value is left. */
const CHECKS: { [Noun in NamedThing]: (value: never, asking: Asking, reads: SubjectReads) => unknown } = {
  project: (name: ProjectName, asking) => one(name, new Map([[name, [name]]]), noProject, asking),
  maybeProject: (name: ProjectName | null, asking) => {
    if (name === null) requirePermissionEverywhere(asking.principal, asking.needs, asking.what)
    else one(name, new Map([[name, [name]]]), noProject, asking)
    return name
  },
  run: (run: Run, asking, reads) => checkRun(run, asking, reads),
  runs: async (runs: Run[], asking, reads) => {
    for (const run of runs) await checkRun(run, asking, reads)
    return runs
  },
  dependencies: (after: NonNullable<Run['after']>, asking, reads) => checkDependencies(after, asking, reads),
  job: async (id: JobId, asking, reads) => one(id, await projectsOfJobs([id], reads), noJob, asking),
  jobs: async (ids: JobId[], asking, reads) => several(ids, await projectsOfJobs(ids, reads), asking),
  place: async (place: QueuePlace, asking, reads) => {
    if (typeof place === 'object') one(place.before, await projectsOfJobs([place.before], reads), noJob, asking)
    return place
  },
  schedule: async (id: ScheduleId, asking, reads) =>
    one(id, await projectsOfSchedules([id], reads), noSchedule, asking),
  schedules: async (ids: ScheduleId[], asking, reads) => several(ids, await projectsOfSchedules(ids, reads), asking),
  crawlOrder: async (id: JobId & ScheduleId, asking, reads) => {
    const ids = JOB_ID_PATTERN.test(id) ? [id] : []
    const found = new Map([...(await projectsOfSchedules(ids, reads)), ...(await projectsOfJobs(ids, reads))])
    return one(id, found, noSchedule, asking)
  },
  chain: async (id: ChainId, asking, { store }) => {
    const chains = (await store.listChains()).map(({ id: of, settings }) => [of, projectsOfChain(settings)] as const)
    return one(id, new Map(chains), noChain, asking)
  },
  errorGroup: async (id: ErrorGroupId, asking, { store }) =>
    one(id, await projectsOfGroups([id], store), noErrorGroup, asking),
  errorGroups: async (ids: ErrorGroupId[], asking, { store }) =>
    several(ids, await projectsOfGroups(ids, store), asking),
  alertRule: (id: AlertRuleId, asking, { alerts }) =>
    oneOfScope(
      id,
      alerts.rules().find((rule) => rule.id === id),
      noAlertRule,
      asking
    ),
  alertSilence: (id: AlertSilenceId, asking, { alerts }) =>
    oneOfScope(
      id,
      alerts.silences().find((silence) => silence.id === id),
      noSilence,
      asking
    ),
  alert: async (id: AlertId, asking, { store }) =>
    oneOfScope(id, (await store.getAlerts([id]))[0]?.labels, noAlert, asking),
  alerts: async (ids: AlertId[], asking, { store }) =>
    severalOfScope(ids, new Map((await store.getAlerts(ids)).map(({ id, labels }) => [id, labels])), asking),
  alertRules: (ids: AlertRuleId[], asking, { alerts }) =>
    severalOfScope(ids, new Map(alerts.rules().map((rule) => [rule.id, rule])), asking),
  alertSilences: (ids: AlertSilenceId[], asking, { alerts }) =>
    severalOfScope(ids, new Map(alerts.silences().map((silence) => [silence.id, silence])), asking),
  environment: (id: string, asking, { environments }) =>
    one(id, new Map(environments.list().map(({ id: of, projects }) => [of, projects])), noEnvironment, asking),
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
  { principal, needs, what }: Asking
): Id {
  const projects = found.get(id)
  if (projects === undefined || !areSeen(projects, principal.rights)) throw missing(id)
  // What no project uses is of the whole service, such as the main environment.
  if (projects.length === 0 && needs !== READ) requirePermissionEverywhere(principal, needs, what)
  for (const project of projects) requirePermissionIn(principal, project, needs, what)
  return id
}

function several<Id>(ids: Id[], found: ProjectsById<Id>, { principal, needs, what }: Asking): Id[] {
  const seen = ids.filter((id) => found.has(id) && areSeen(found.get(id)!, principal.rights))
  for (const project of new Set(seen.flatMap((id) => found.get(id)!)))
    requirePermissionIn(principal, project, needs, what)
  return seen
}

async function checkRun(run: Run, asking: Asking, reads: SubjectReads): Promise<Run> {
  if (run.project === undefined) throw new ScrapdeckError('BAD_INPUT', 'Name the project ("project")')
  one(run.project, new Map([[run.project, [run.project]]]), noProject, asking)
  if (run.after !== undefined) await checkDependencies(run.after, asking, reads)
  return run
}

/** It is enough to see them. */
async function checkDependencies<After extends { jobId: JobId }[]>(
  after: After,
  { principal, what }: Asking,
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

/** What is of no project is of the whole service, which only those who see all of it see. */
const isScopeSeen = ({ project }: { project: ProjectName | null }, { rights }: Principal): boolean =>
  project === null ? rights.everywhere !== null : areSeen([project], rights)

function oneOfScope<Id>(
  id: Id,
  found: { project: ProjectName | null } | undefined,
  missing: (id: Id) => ScrapdeckError,
  { principal, needs, what }: Asking
): Id {
  if (found === undefined || !isScopeSeen(found, principal)) throw missing(id)
  if (found.project === null) requirePermissionEverywhere(principal, needs, what)
  else requirePermissionIn(principal, found.project, needs, what)
  return id
}

function severalOfScope<Id>(ids: Id[], found: ReadonlyMap<Id, { project: ProjectName | null }>, asking: Asking): Id[] {
  const seen = ids.filter((id) => found.has(id) && isScopeSeen(found.get(id)!, asking.principal))
  const projects = new Map(seen.map((id) => [id, [found.get(id)!.project].filter((one) => one !== null)]))
  // What is of no project, such as a node, is of the whole service.
  if ([...projects.values()].some((each) => each.length === 0))
    requirePermissionEverywhere(asking.principal, asking.needs, asking.what)
  return several(ids, projects, asking)
}

import type {
  Change,
  Figures,
  JobId,
  LiveFigures,
  Node,
  NodeId,
  Problem,
  Project,
  PythonState
} from '../../../shared/contract/index.ts'
import type { ScheduleReads } from '../commands/schedule-reads.ts'
import type { TouchedThing } from '../change-feed/change-feed.ts'
import type { Environments } from '../../nodes/local/pythons/environments.ts'
import type { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import type { ChangedIds, ChangedThing } from '../../model/records.ts'
import type { JobReader } from '../../storage/store.ts'

interface StoredReads {
  store: JobReader
  waiting: WaitingReasons
  listNodes: () => Node[]
  listProjects: () => Project[]
  scheduleReads: Pick<ScheduleReads, 'describeMany'>
}

/** Adds the schedules whose jobs changed, because a schedule includes its last runs. */
export async function describeStored(things: ChangedThing[], parts: StoredReads): Promise<Change[]> {
  const jobIds = things.flatMap((thing) => (thing.noun === 'job' ? [thing.id] : []))
  const jobs = new Map((jobIds.length === 0 ? [] : await parts.store.getJobs(jobIds)).map((job) => [job.id, job]))
  const has = (noun: ChangedThing['noun']) => things.some((thing) => thing.noun === noun)
  const nodes = new Map((has('node') ? parts.listNodes() : []).map((node) => [node.id, node]))
  const projects = new Map((has('project') ? parts.listProjects() : []).map((project) => [project.name, project]))
  const changedSchedules = new Set(things.flatMap((thing) => (thing.noun === 'schedule' ? [thing.id] : [])))
  const touchedSchedules = new Set([...jobs.values()].map((job) => job.scheduleId).filter((id) => id !== null))
  const scheduleIds = [...new Set([...changedSchedules, ...touchedSchedules])]
  const described = scheduleIds.length === 0 ? [] : await parts.scheduleReads.describeMany(scheduleIds)
  const schedules = new Map(described.map((schedule) => [schedule.id, schedule]))
  const describe: { [Noun in keyof ChangedIds]: (id: ChangedIds[Noun]) => Change } = {
    job: (id) => {
      const job = jobs.get(id)
      return job === undefined ? { kind: 'job_removed', id } : { kind: 'job', job: parts.waiting.describeJob(job) }
    },
    jobs: () => ({ kind: 'jobs' }),
    node: (id) => {
      const node = nodes.get(id)
      return node === undefined ? { kind: 'node_removed', id } : { kind: 'node', node }
    },
    schedule: (id) => {
      const schedule = schedules.get(id)
      return schedule === undefined ? { kind: 'schedule_removed', id } : { kind: 'schedule', schedule }
    },
    project: (name) => {
      const project = projects.get(name)
      return project === undefined ? { kind: 'project_removed', name } : { kind: 'project', project }
    }
  }
  const describeOne = <Noun extends keyof ChangedIds>({ noun, id }: ChangedThing<Noun>) => describe[noun](id)
  const changes = things.map((thing) => describeOne(thing))
  const others = described.filter(({ id }) => !changedSchedules.has(id))
  return [...changes, ...others.map((schedule): Change => ({ kind: 'schedule', schedule }))]
}

/** describeStored reports removed nodes. */
export function describeTouched(
  things: readonly TouchedThing[],
  reads: {
    figures: () => Figures
    problems: () => Problem[]
    python: () => PythonState
    environments: Environments
    waiting: WaitingReasons
    findNode: (id: NodeId) => Node | null
    progressOf: (id: JobId) => LiveFigures | null
  }
): Change[] {
  return things.flatMap((thing): Change[] => {
    if (isAbout(thing, 'waiting')) {
      const lane = thing.slice('waiting:'.length)
      return [{ kind: 'waiting', lane, waiting: reads.waiting.of(lane) }]
    }
    if (isAbout(thing, 'node')) {
      const node = reads.findNode(thing.slice('node:'.length) as NodeId)
      return node === null ? [] : [{ kind: 'node', node }]
    }
    if (isAbout(thing, 'progress')) {
      const id = thing.slice('progress:'.length) as JobId
      const progress = reads.progressOf(id)
      return progress === null ? [] : [{ kind: 'job_progress', id, progress }]
    }
    switch (thing) {
      case 'figures':
        return [{ kind: thing, figures: reads.figures() }]
      case 'problems':
        return [{ kind: thing, problems: reads.problems() }]
      case 'python':
        return [{ kind: thing, python: reads.python() }]
      case 'environments':
        return [{ kind: thing, environments: reads.environments.list() }]
      default:
        return [{ kind: thing }]
    }
  })
}

function isAbout<Noun extends string>(thing: TouchedThing, noun: Noun): thing is TouchedThing & `${Noun}:${string}` {
  return thing.startsWith(`${noun}:`)
}

import type { Job, JobDetail, JobFilter, JobId, JobStatus, ProjectName } from '../../shared/contract/index.ts'
import { JOB_STATUSES } from '../../shared/choices.ts'
import { formatAge, formatDuration } from '../../shared/time.ts'
import { collect, wholeNumber } from '../client/arguments.ts'
import type { Client } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { findJobId, findNodeId, findSchedule, nodeNames } from '../client/find.ts'
import { localTime, plural, print, table } from '../client/output.ts'
import type { ClientCommands, Session } from '../client/session.ts'

interface ListFlags {
  status?: JobStatus[]
  project?: ProjectName
  spider?: string
  node?: string
  schedule?: string
  limit: number
}

export function addJobCommands({ add }: ClientCommands): void {
  add('jobs [id]', 'List jobs, newest first, or show one with its attempts and its timeline.', (command) =>
    command
      .option('--status <status>', `only these: ${JOB_STATUSES.join(', ')} (can be repeated)`, collect)
      .option('--project <name>', 'only of this project (* matches anything)')
      .option('--spider <name>', 'only of this spider (* matches anything)')
      .option('--node <name>', 'only on this node')
      .option('--schedule <name>', 'only of this schedule')
      .option('--limit <number>', 'so many', wholeNumber, 50)
  )((session, [id], flags: ListFlags) => (id === undefined ? listJobs(session, flags) : showJob(session, id)))

  add('cancel <id...>', 'Cancel jobs: queued ones immediately, running ones by asking them to stop.', (command) =>
    command.option('--force', 'skip the graceful stop and force it')
  )(async ({ client, terminal, flags }, [...ids], { force }: { force?: boolean }) => {
    const full = await Promise.all(ids.map((id) => findJobId(client, id)))
    const answer = await client.jobs.cancel({ ids: full, force: force ?? false })
    print(terminal, flags, answer, ({ asked, alreadyEnded }) =>
      [
        asked.length === 0 ? '' : `${plural(asked.length, 'job')} asked to stop.`,
        alreadyEnded.length === 0 ? '' : `${plural(alreadyEnded.length, 'job')} had ended before.`
      ]
        .filter((line) => line !== '')
        .join('\n')
    )
  })
}

async function listJobs({ client, terminal, flags }: Session, options: ListFlags): Promise<void> {
  const wrong = options.status?.find((status) => !JOB_STATUSES.includes(status))
  if (wrong !== undefined) {
    throw new CommandEnd(EXIT_CODES.usage, `${wrong} is not a status. Known statuses: ${JOB_STATUSES.join(', ')}.`)
  }
  const filter = {
    status: options.status,
    project: options.project,
    spider: options.spider,
    nodeId: options.node === undefined ? undefined : await findNodeId(client, options.node),
    scheduleId: options.schedule === undefined ? undefined : (await findSchedule(client, options.schedule)).id
  }
  const [{ jobs, nextBefore }, names] = await Promise.all([
    readNewest(client, filter, options.limit),
    flags.json === true ? new Map<string, string>() : nodeNames(client)
  ])
  print(terminal, flags, { jobs, nextBefore }, () =>
    table(
      ['id', 'status', 'project', 'spider', 'node', 'age', 'items', 'why'],
      jobs.map((job) => [
        job.id,
        job.status,
        job.project,
        job.spider,
        job.nodeId === null ? null : (names.get(job.nodeId) ?? job.nodeId),
        formatAge(terminal.nowMs() - job.queuedAtMs),
        job.items,
        job.waiting?.text ?? job.reason
      ]),
      'No jobs.'
    )
  )
}

async function readNewest(client: Client, filter: JobFilter, most: number) {
  const jobs: Job[] = []
  let before: JobId | null = null
  do {
    const limit = Math.min(500, most - jobs.length)
    if (limit < 1) break
    const page: { jobs: Job[]; nextBefore: JobId | null } = await client.jobs.list({
      ...filter,
      limit,
      before: before ?? undefined
    })
    jobs.push(...page.jobs)
    before = page.nextBefore
  } while (before !== null)
  return { jobs, nextBefore: before }
}

async function showJob({ client, terminal, flags }: Session, id: string): Promise<void> {
  const detail = await client.jobs.get({ id: await findJobId(client, id) })
  const names = flags.json === true ? new Map<string, string>() : await nodeNames(client)
  print(terminal, flags, detail, (answer) => describeJob(answer, names))
}

/** Entries named by a phrase instead of a field name: what plugins did. */
function notesOf(evidence: Record<string, unknown>): string[] {
  const inWords = Object.entries(evidence).filter(([name]) => name.includes(' '))
  return inWords.map(([name, value]) => `${' '.repeat(21)}${name}: ${[value].flat().join(', ')}`)
}

function describeJob({ job, attempts, timeline }: JobDetail, nodes: Map<string, string>): string {
  const pairs = (values: Record<string, string>) =>
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')
  const took =
    job.startedAtMs !== null && job.endedAtMs !== null
      ? formatDuration(Math.round((job.endedAtMs - job.startedAtMs) / 1000))
      : ''
  const facts: [string, string][] = [
    ['Job', job.id],
    ['Spider', `${job.project} / ${job.spider}${job.version === null ? '' : ` (${job.version})`}`],
    [
      'Status',
      [job.status, job.waiting?.text ?? job.reason ?? '', took && `after ${took}`]
        .filter((text) => text !== '')
        .join(', ')
    ],
    ['Arguments', pairs(job.args)],
    ['Settings', pairs(job.settings)],
    ['Schedule', job.scheduleId === null ? '' : `${job.scheduleId}, for ${localTime(job.nominalMs)}`],
    [
      'Counts',
      job.items === null
        ? ''
        : [plural(job.items, 'item'), plural(job.pages ?? 0, 'page'), plural(job.errors ?? 0, 'error')].join(', ')
    ],
    ['Failed at', job.killingLine ?? ''],
    [
      'Runs',
      attempts
        .map(({ number, nodeId, result, state }) => `${number} on ${nodes.get(nodeId) ?? nodeId}: ${result ?? state}`)
        .join('; ')
    ]
  ]
  const lines = facts.filter(([, text]) => text !== '').map(([name, text]) => `${name.padEnd(10)} ${text}`)
  const steps = timeline.flatMap(({ atMs, text, evidence }) => [`${localTime(atMs)}  ${text}`, ...notesOf(evidence)])
  return [...lines, '', ...steps].join('\n')
}

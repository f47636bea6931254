import { JobId, type NodeId, type ProjectName } from '../../shared/contract/index.ts'
import type { Job, JobDetail, JobStatus } from '../../shared/contract/jobs.ts'
import { JobStatus as STATUSES } from '../../shared/contract/jobs.ts'
import { formatAge, formatDuration } from '../../shared/time.ts'
import { collect, wholeNumber } from '../client/arguments.ts'
import type { Client } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { localTime, plural, print, printLine, table } from '../client/output.ts'
import { safeJson } from '../client/terminal.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { findSchedule } from './schedules.ts'

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
      .option('--status <status>', `only these: ${STATUSES.options.join(', ')} (can be repeated)`, collect)
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
  const wrong = options.status?.find((status) => !STATUSES.options.includes(status))
  if (wrong !== undefined) {
    throw new CommandEnd(EXIT_CODES.usage, `${wrong} is not a status. Known statuses: ${STATUSES.options.join(', ')}.`)
  }
  const filter = {
    status: options.status,
    project: options.project,
    spider: options.spider,
    nodeId: options.node === undefined ? undefined : await findNodeId(client, options.node),
    scheduleId: options.schedule === undefined ? undefined : (await findSchedule(client, options.schedule)).id
  }
  const jobs: Job[] = []
  let before: string | undefined
  do {
    const limit = Math.min(500, options.limit - jobs.length)
    if (limit < 1) break
    const page = await client.jobs.list({ ...filter, limit, before })
    jobs.push(...page.jobs)
    before = page.nextBefore ?? undefined
  } while (before !== undefined)
  const names = flags.json === true ? new Map<string, string>() : await nodeNames(client)
  print(terminal, flags, { jobs, nextBefore: before ?? null }, () =>
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

/** Accepts the whole id, or a prefix that matches only one job. */
export async function findJobId(client: Client, text: string): Promise<JobId> {
  const whole = JobId.safeParse(text)
  if (whole.success) return whole.data
  if (!/^[0-9a-f]{10,31}$/.test(text)) {
    throw new CommandEnd(EXIT_CODES.usage, `${text} is not a job id: 32 hexadecimal digits, or at least the first 10.`)
  }
  const { jobs } = await client.jobs.list({ text, limit: 2 })
  if (jobs.length === 1) return jobs[0]!.id
  const what =
    jobs.length === 0
      ? `No job id starts with ${text}; "scrapdeck jobs" lists the newest jobs.`
      : `Several job ids start with ${text}. Give more of the id.`
  throw new CommandEnd(EXIT_CODES.notFound, what)
}

export async function findNodeId(client: Client, text: string): Promise<NodeId> {
  const { nodes } = await client.nodes.list()
  const node = nodes.find(({ id }) => id === text) ?? nodes.find(({ name }) => name === text)
  if (node !== undefined) return node.id
  throw new CommandEnd(
    EXIT_CODES.notFound,
    `There is no node ${text}. There are ${nodes.map(({ name }) => name).join(', ') || 'none'}.`
  )
}

export async function nodeNames(client: Client): Promise<Map<string, string>> {
  const { nodes } = await client.nodes.list()
  return new Map(nodes.map(({ id, name }) => [id, name]))
}

/** Waits until the jobs have ended and prints each. Ends with badOutcome unless all succeeded. */
export async function waitForJobs({ client, terminal, flags }: Session, ids: string[]): Promise<void> {
  const open = new Set(ids)
  let areGood = true
  let missed = 0
  while (open.size > 0) {
    for (const id of open) {
      const progress = await client.jobs.status({ id }).catch((error: unknown) => {
        // The engine may be restarting; its jobs continue without it.
        const isAway = error instanceof CommandEnd && error.exitCode === EXIT_CODES.unreachable
        if (!isAway || terminal.interrupted.aborted || missed >= MOST_MISSED) throw error
        missed += 1
        return null
      })
      if (progress === null) break
      missed = 0
      if (progress.state !== 'ended') continue
      open.delete(id)
      areGood &&= progress.outcome === 'succeeded'
      if (flags.json === true) terminal.out(`${safeJson(progress)}\n`)
      else printLine(terminal, `${id}  ${progress.outcome}${progress.reason === null ? '' : ` (${progress.reason})`}`)
    }
    if (open.size > 0) await terminal.sleep(WAIT_MS)
  }
  if (!areGood) throw new CommandEnd(EXIT_CODES.badOutcome)
}

const WAIT_MS = 1_000
/** Consecutive polls without a response. */
const MOST_MISSED = 120

import type { Job, JobDetail, JobFilter, JobId, ProjectName, ShownStatus } from '../../shared/contract/index.ts'
import { SHOWN_STATUSES } from '../../shared/choices.ts'
import { type Stops, type StopStep, stopsOf } from '../../shared/stop-ladder.ts'
import { formatAge, formatDuration, formatWait } from '../../shared/time.ts'
import { collect, wholeNumber } from '../client/arguments.ts'
import type { Client } from '../client/connect.ts'
import { since } from '../client/times.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { findNodeId, findSchedule, nodeNames, requireProject, scheduleNames, withJobs } from '../client/find.ts'
import { localTime, plural, printLine, table } from '../client/output.ts'
import { safeJson } from '../client/terminal.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { whyOf } from '../client/why.ts'

const WATCH_EVERY_MS = 2_000
const CLEAR_SCREEN = '\x1b[H\x1b[2J'

interface ListFlags {
  status?: ShownStatus[]
  project?: ProjectName
  spider?: string
  node?: string
  schedule?: string
  since?: (nowMs: number) => number
  user?: string
  limit: number
  watch?: boolean
}

export function addJobCommands({ add }: ClientCommands): void {
  add('jobs [id]', 'List jobs, newest first, or show one with its attempts and its timeline.', (command) =>
    command
      .option('--status <status>', `only these: ${SHOWN_STATUSES.join(', ')} (can be repeated)`, collect)
      .option('--project <name>', 'only of this project (* matches anything)')
      .option('--spider <name>', 'only of this spider (* matches anything)')
      .option('--node <name>', 'only on this node')
      .option('--schedule <name>', 'only of this schedule')
      .option('--user <id>', 'only for this user of crawl orders')
      .option('--since <time>', 'only those queued since then: 30m, 2h, 7d or a time', since)
      .option('--limit <number>', 'maximum number of jobs', wholeNumber, 50)
      .option('--watch', 'refresh the list until you interrupt it')
  )((session, [id], flags: ListFlags) => (id === undefined ? listJobs(session, flags) : showJob(session, id)))

  add('cancel <id...>', 'Cancel jobs: queued ones immediately, running ones by asking them to stop.', (command) =>
    command
      .option('--force', 'stop now: go to the next step at once, at least to the second INT')
      .option('--wait <seconds>', 'how long a spider may take to finish (default: as its project says)', wholeNumber)
  )(async (session, [...names], { force, wait }: { force?: boolean; wait?: number }) => {
    const { client, flags, print } = session
    const options = { force: force ?? false, waitSeconds: wait }
    const answer = await withJobs(client, names, (ids) => client.jobs.cancel({ ids, ...options }))
    const stops = flags.json === true ? [] : await readStops(session, answer.asked)
    print(answer, ({ alreadyEnded }) =>
      [
        ...stops,
        ...(alreadyEnded.length === 0 ? [] : [`${plural(alreadyEnded.length, 'job')} had already ended.`])
      ].join('\n')
    )
  })
}

/** The maximum number of jobs whose outcomes the command reads. */
const STOPS_READ_MAX = 20
const STOP_READS_MAX = 5
const STOP_READ_EVERY_MS = 200

/** Returns one line per kind of result: `2 jobs asked to stop (INT); next INT in 10 min.` */
async function readStops({ client, terminal }: Session, ids: JobId[]): Promise<string[]> {
  if (ids.length > STOPS_READ_MAX) return [`${plural(ids.length, 'job')} cancelled or asked to stop.`]
  const words = new Map<JobId, string | null>(ids.map((id) => [id, null]))
  for (let reads = 0; reads < STOP_READS_MAX; reads += 1) {
    const pending = ids.filter((id) => words.get(id) === null)
    if (pending.length === 0) break
    if (reads > 0) await terminal.sleep(STOP_READ_EVERY_MS)
    await Promise.all(pending.map(async (id) => words.set(id, await readStop(client, id, terminal.nowMs()))))
  }
  const counts = new Map<string, number>()
  for (const known of words.values()) {
    const text = known ?? 'asked to stop; the signal has not been sent yet'
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  return [...counts].map(([words, count]) => `${plural(count, 'job')} ${words}.`)
}

/**
 * Returns null if no signal has been sent yet. Does not reject if reading fails, because the cancel itself succeeded.
 */
async function readStop(client: Client, id: JobId, nowMs: number): Promise<string | null> {
  const detail = await client.jobs.get({ id }).catch(() => null)
  return detail === null ? 'asked to stop' : describeCancel(detail, nowMs)
}

function describeCancel({ job, attempts, timeline }: JobDetail, nowMs: number): string | null {
  if (job.state === 'ended') return attempts.length === 0 ? 'cancelled before a run started' : (job.outcome ?? 'ended')
  const { sent, next } = stopsOf(timeline)
  const step = sent.at(-1)?.step ?? null
  if (step === null || next === null) return null
  return `${SENT_WORDS[step]}; next ${next.signal} in ${formatWait(next.atMs - nowMs)}`
}

const SENT_WORDS: Record<StopStep, string> = {
  finish: 'asked to stop (INT)',
  stop_now: 'asked to stop immediately (second INT)',
  kill: 'killed (KILL)'
}

async function listJobs(session: Session, options: ListFlags): Promise<void> {
  const { client, terminal, print } = session
  const wrong = options.status?.find((status) => !SHOWN_STATUSES.includes(status))
  if (wrong !== undefined) {
    throw new CommandEnd(EXIT_CODES.usage, `${wrong} is not a status. Known statuses: ${SHOWN_STATUSES.join(', ')}.`)
  }
  if (options.limit < 1) throw new CommandEnd(EXIT_CODES.usage, '--limit takes a number from 1.')
  const filter: JobFilter = {
    status: options.status,
    project: options.project,
    spider: options.spider,
    userId: options.user,
    nodeId: options.node === undefined ? undefined : await findNodeId(client, options.node),
    scheduleId: options.schedule === undefined ? undefined : (await findSchedule(client, options.schedule)).id,
    sinceMs: options.since?.(terminal.nowMs())
  }
  if (options.watch) return watchJobs(session, filter, options.limit)
  const list = await readList(session, filter, options.limit)
  if (list.jobs.length === 0) await requireProject(client, options.project)
  print({ jobs: list.jobs, nextBefore: list.nextBefore }, () => describeList(list, terminal.nowMs()))
}

/** Redraws the list in place on a terminal. Elsewhere, prints it again when something other than an age has changed. */
async function watchJobs(session: Session, filter: JobFilter, most: number): Promise<void> {
  const { terminal, flags } = session
  const printed = new Map<JobId, string>()
  for (let shown = ''; ; await terminal.sleep(WATCH_EVERY_MS)) {
    const list = await readList(session, filter, most).catch((error: unknown) => {
      const isAway = error instanceof CommandEnd && error.exitCode === EXIT_CODES.unreachable
      if (shown === '' || !isAway || terminal.interrupted.aborted) throw error
      terminal.error(`${error.message}\n`)
      return null
    })
    if (list === null) continue
    const nowMs = terminal.nowMs()
    const text = describeList(list, nowMs)
    const withoutAges = JSON.stringify(list.jobs)
    if (flags.json === true) {
      // For readability, print only the changed jobs and the ids of jobs that left the list.
      const jobs = list.jobs.filter((job) => printed.get(job.id) !== JSON.stringify(job))
      const listed = new Set(list.jobs.map(({ id }) => id))
      const left = [...printed.keys()].filter((id) => !listed.has(id))
      if (jobs.length > 0 || left.length > 0 || shown === '')
        terminal.out(`${safeJson({ jobs, left, nextBefore: list.nextBefore })}\n`)
      printed.clear()
      for (const job of list.jobs) printed.set(job.id, JSON.stringify(job))
    } else if (terminal.isTerminal) {
      terminal.out(`${CLEAR_SCREEN}${localTime(nowMs)}, every ${WATCH_EVERY_MS / 1000} s. Ctrl-C ends it.\n\n`)
      printLine(terminal, text)
    } else if (withoutAges !== shown) printLine(terminal, `${localTime(nowMs)}\n${text}\n`)
    shown = withoutAges
  }
}

interface JobList {
  jobs: Job[]
  nextBefore: JobId | null
  nodes: Map<string, string>
  schedules: Map<string, string>
}

/** Reads names in parallel, or not at all for --json, because a request takes as long as the rest of the command. */
async function readList({ client, flags }: Session, filter: JobFilter, most: number): Promise<JobList> {
  const nameless = new Map<string, string>()
  if (flags.json === true) return { ...(await readNewest(client, filter, most)), nodes: nameless, schedules: nameless }
  const [page, nodes] = await Promise.all([readNewest(client, filter, most), nodeNames(client)])
  const scheduleIds = new Set(page.jobs.flatMap(({ scheduleId }) => scheduleId ?? []))
  return { ...page, nodes, schedules: await scheduleNames(client, scheduleIds) }
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

function describeList({ jobs, nodes, schedules }: JobList, nowMs: number): string {
  return table(
    ['id', 'status', 'project', 'spider', 'node', 'schedule', 'age', 'items', 'why'],
    jobs.map((job) => [
      job.id,
      job.status,
      job.project,
      job.spider,
      nameIn(nodes, job.nodeId),
      scheduleIn(schedules, job.scheduleId),
      formatAge(nowMs - job.queuedAtMs),
      job.items,
      whyOf(job, nowMs)
    ]),
    'No jobs.'
  )
}

const nameIn = (names: Map<string, string>, id: string | null): string | null =>
  id === null ? null : (names.get(id) ?? id)

const scheduleIn = (names: Map<string, string>, id: string | null): string | null =>
  id === null ? null : (names.get(id) ?? '(deleted schedule)')

async function showJob(session: Session, name: string): Promise<void> {
  const { client, terminal, flags, print } = session
  const detail = await withJobs(client, [name], ([id]) => client.jobs.get({ id: id! }))
  if (flags.json === true) return print(detail, () => '')
  const { scheduleId } = detail.job
  const nodes = await nodeNames(client)
  const schedules = await scheduleNames(client, new Set(scheduleId === null ? [] : [scheduleId]))
  print(detail, (answer) => describeJob(answer, { nodes, schedules }, terminal.nowMs()))
}

/** The names of notes about a node that cannot receive variables or secret values (dispatch/placing/sender.ts). */
const NOTES_OF_NODE = ['env', 'secrets']

/** Returns the notes in a timeline entry. The name of a plugin's note is a phrase, not a field name. */
function notesOf(evidence: Record<string, unknown>): string[] {
  const isNote = (name: string) => name.includes(' ') || NOTES_OF_NODE.includes(name)
  const inWords = Object.entries(evidence).filter(([name]) => isNote(name))
  return inWords.map(([name, value]) => `${' '.repeat(21)}${name}: ${[value].flat().join(', ')}`)
}

function describeJob(
  { job, attempts, timeline }: JobDetail,
  { nodes, schedules }: Pick<JobList, 'nodes' | 'schedules'>,
  nowMs: number
): string {
  const pairs = (values: Record<string, string>) =>
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')
  const took =
    job.startedAtMs !== null && job.endedAtMs !== null
      ? formatDuration(Math.round((job.endedAtMs - job.startedAtMs) / 1000))
      : ''
  const newest = attempts.at(-1)
  // Whether the run has ended but the job has not, because the engine is still reading the log.
  const isEnding = job.state !== 'ended' && newest?.state === 'finishing'
  // If the job has no version, show the version that was sent to the node.
  const version = job.version ?? newest?.version ?? null
  const facts: [string, string][] = [
    ['Job', job.jobid === job.id ? job.id : `${job.id} (jobid ${job.jobid})`],
    ['Spider', `${job.project} / ${job.spider}${version === null ? '' : ` (${version})`}`],
    [
      'Status',
      [
        ...(isEnding
          ? [job.status, 'its run has ended and its log is being read']
          : [job.status, whyOf({ ...job, killingLine: null }, nowMs) ?? '']),
        took && `after ${took}`
      ]
        .filter((text) => text !== '')
        .join(', ')
    ],
    ['Limit hit', job.outcome === 'failed' ? (newest?.limitHit ?? '') : ''],
    ['Stopping', job.state === 'ended' || isEnding ? '' : describeStop(stopsOf(timeline), job.id, nowMs)],
    ['Arguments', pairs(job.args)],
    ['Settings', pairs(job.settings)],
    ['User', job.userId ?? ''],
    [
      'Schedule',
      job.scheduleId === null ? '' : `${scheduleIn(schedules, job.scheduleId)}, for ${localTime(job.nominalMs)}`
    ],
    [
      'Counts',
      job.items === null && job.pages === null && job.errors === null
        ? ''
        : [countOf(job.items, 'item'), countOf(job.pages, 'page'), countOf(job.errors, 'error')].join(', ')
    ],
    ['Last error', job.killingLine ?? ''],
    [
      'Runs',
      attempts
        .map(({ number, nodeId, result, state }) => `${number} on ${nameIn(nodes, nodeId)}: ${result ?? state}`)
        .join('; ')
    ]
  ]
  const lines = facts.filter(([, text]) => text !== '').map(([name, text]) => `${name.padEnd(10)} ${text}`)
  const steps = timeline.flatMap(({ atMs, text, evidence }) => [`${localTime(atMs)}  ${text}`, ...notesOf(evidence)])
  return [...lines, '', ...steps].join('\n')
}

const countOf = (count: number | null, what: string): string =>
  count === null ? `an unknown number of ${what}s` : plural(count, what)

/** `Asked the run to stop (INT); next INT at 14:10:00 (in 9 min): "scrapdeck cancel --force ID" sends it now`. */
function describeStop({ sent, next }: Stops, id: JobId, nowMs: number): string {
  if (next === null) return ''
  const { signal, atMs } = next
  const when = `${localTime(atMs)} (in ${formatWait(atMs - nowMs)})`
  return `${sent.at(-1)!.text}; next ${signal} at ${when}: "scrapdeck cancel --force ${id}" sends it now`
}

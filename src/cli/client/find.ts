import type { JobId, Node, NodeId, ProjectName, Schedule } from '../../shared/contract/index.ts'
import { isScrapdeckError } from '../../shared/errors.ts'
import { JOB_ID_PATTERN } from '../../shared/id-patterns.ts'
import { matchesGlob } from '../../shared/glob.ts'
import { isNamedBy } from '../../shared/ids.ts'
import { suggestNear } from '../../shared/near-matches.ts'
import { describeTags, meetsTags } from '../../shared/tag-terms.ts'
import { type Client, toCommandError } from './connect.ts'
import { CommandEnd, EXIT_CODES } from './exit-codes.ts'
import type { Session } from './session.ts'

/**
 * Acts on jobs named by id, by its last 8 or more digits, by its first 10 or more digits, or by a client's jobid.
 * Treats 32 digits as an id first, then as a jobid, because some clients choose such jobids. Calls `act` again after
 * JOB_NOT_FOUND, so `act` must change nothing when it throws that error.
 */
export async function withJobs<Result>(
  client: Client,
  texts: string[],
  act: (ids: JobId[]) => Promise<Result>
): Promise<Result> {
  const isWhole = (text: string): text is JobId => JOB_ID_PATTERN.test(text)
  const ids = await Promise.all(texts.map((text) => (isWhole(text) ? text : findJobId(client, text))))
  try {
    return await act(ids)
  } catch (error) {
    if (!texts.some(isWhole) || !isScrapdeckError(toCommandError(error), 'JOB_NOT_FOUND')) throw error
    const found = await Promise.all(
      ids.map(async (id, index) => (isWhole(texts[index]!) ? findByJobid(client, id) : id))
    )
    const named = found.map((id, index) => id ?? ids[index]!)
    if (named.every((id, index) => id === ids[index])) throw error
    return act(named)
  }
}

async function findJobId(client: Client, text: string): Promise<JobId> {
  const named = await findByJobid(client, text)
  if (named !== null) return named
  const isPart = /^[0-9a-f]{8,31}$/.test(text)
  const { jobs } = isPart ? await client.jobs.list({ text, limit: 100 }) : { jobs: [] }
  const job = pickById(jobs, text)
  if (job !== null) return job.id
  throw new CommandEnd(
    EXIT_CODES.notFound,
    `There is no job with the id or jobid ${text}; "scrapdeck jobs" lists the newest jobs. An id can be shortened to its last 8 digits.`
  )
}

/** Finds a thing by its id or a short form, or returns null. If several match, lists them and ends the command. */
export function pickById<Thing extends { id: string }>(
  things: readonly Thing[],
  text: string,
  startMin?: number
): Thing | null {
  const whole = things.find(({ id }) => id === text)
  const found = whole === undefined ? things.filter(({ id }) => isNamedBy(id, text, startMin)) : [whole]
  if (found.length < 2) return found[0] ?? null
  const matches = `${found.length} ids match ${text}: ${found
    .slice(0, 5)
    .map(({ id }) => id)
    .join(', ')}`
  throw new CommandEnd(EXIT_CODES.usage, `${matches}${found.length > 5 ? ', …' : ''}. Give more of the id.`)
}

async function findByJobid(client: Client, jobid: string): Promise<JobId | null> {
  if (jobid.length > 200) return null
  const { jobs } = await client.jobs.list({ jobid, limit: 6 })
  if (jobs.length < 2) return jobs[0]?.id ?? null
  const lines = jobs.slice(0, 5).map((job) => `${job.id} (${job.project}/${job.spider}, ${job.status})`)
  throw new CommandEnd(
    EXIT_CODES.usage,
    `${jobs.length > 5 ? 'More than five' : 'Several'} jobs have the jobid ${jobid}. Use the id of one: ${lines.join(', ')}.`
  )
}

export async function findNodeId(client: Client, text: string): Promise<NodeId> {
  return (await findNode(client, text)).id
}

/** Finds a node by its id, a short form of it, or its name. */
export async function findNode(client: Client, text: string): Promise<Node> {
  const { nodes } = await client.nodes.list()
  const isId = nodes.some(({ id }) => id === text)
  const node = (isId ? undefined : nodes.find(({ name }) => name === text)) ?? pickById(nodes, text)
  if (node !== null) return node
  throw new CommandEnd(
    EXIT_CODES.notFound,
    `There is no node ${text}. There are ${nodes.map(({ name }) => name).join(', ') || 'none'}.`
  )
}

export async function nodeNames(client: Client): Promise<Map<string, string>> {
  const { nodes } = await client.nodes.list()
  return new Map(nodes.map(({ id, name }) => [id, name]))
}

/** Finds a schedule by its id, a short form of it, or a unique name. */
export async function findSchedule(client: Client, text: string): Promise<Schedule> {
  if (/^[0-9a-f]{32}$/.test(text)) return client.schedules.get({ id: text })
  const { schedules } = await client.schedules.list({ text, limit: 500, recent: 0 })
  const named = schedules.filter(({ name }) => name === text)
  if (named.length === 1) return named[0] as Schedule
  const isPart = named.length === 0 && /^[0-9a-f]{8,31}$/.test(text)
  const byId = isPart ? pickById(await listSchedules(client, {}), text) : null
  if (byId !== null) return byId
  const what =
    named.length === 0
      ? `There is no schedule ${text}; "scrapdeck schedules list" shows all schedules.`
      : `Several schedules are named ${text}. Use an id from "scrapdeck schedules list".`
  throw new CommandEnd(named.length === 0 ? EXIT_CODES.notFound : EXIT_CODES.usage, what)
}

/** The maximum number of schedules to read one by one. For more, reading the list is faster. */
const SINGLE_MAX = 20

/** Maps schedule ids to names. Skips removed schedules. */
export async function scheduleNames(client: Client, ids: ReadonlySet<string>): Promise<Map<string, string>> {
  if (ids.size <= SINGLE_MAX) {
    const found = await Promise.all([...ids].map((id) => client.schedules.get({ id }).catch(() => null)))
    return new Map(found.flatMap((one) => (one === null ? [] : [[one.id, one.name]])))
  }
  return new Map((await listSchedules(client, {})).flatMap(({ id, name }) => (ids.has(id) ? [[id, name]] : [])))
}

export async function listSchedules(
  client: Client,
  { recent = 0, ...filter }: { project?: ProjectName | undefined; text?: string | undefined; recent?: number }
): Promise<Schedule[]> {
  const all: Schedule[] = []
  let after: string | undefined
  do {
    const page = await client.schedules.list({ ...filter, limit: 500, recent, after })
    all.push(...(page.schedules as Schedule[]))
    after = page.nextAfter ?? undefined
  } while (after !== undefined)
  return all
}

/** Ends the command with `notFound` if no project matches. Otherwise, a mistyped name would give an empty list. */
export async function requireProject(client: Client, name: string | undefined): Promise<void> {
  if (name === undefined) return
  const names = (await client.projects.list()).projects.map((project) => project.name)
  if (names.some((known) => matchesGlob(name, known))) return
  const near = suggestNear(name, names)
  const what = name.includes('*') ? `No project matches ${name}.` : `There is no project ${name}.`
  throw new CommandEnd(EXIT_CODES.notFound, `${what}${near}`)
}

/** Warns about tag terms that no node meets. A job with such a term waits until a node meets it. */
export async function tellUnmetTags({ client, terminal, flags }: Session, terms: readonly string[]): Promise<void> {
  if (terms.length === 0 || flags.json === true) return
  const { nodes } = await client.nodes.list()
  const unmet = terms.filter((term) => !nodes.some(({ tags }) => meetsTags([term], tags)))
  if (unmet.length === 0 && nodes.some(({ tags }) => meetsTags(terms, tags))) return
  const what = describeTags(unmet.length === 0 ? terms : unmet)
  const known = [...new Set(nodes.flatMap(({ tags }) => tags))].sort()
  terminal.error(
    `No node is ${what}, so nothing starts until one is. Tags of the nodes: ${known.join(', ') || 'none'}.\n`
  )
}

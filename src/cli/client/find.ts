import type { JobId, NodeId, Schedule } from '../../shared/contract/index.ts'
import { JOB_ID_PATTERN } from '../../shared/id-patterns.ts'
import type { Client } from './connect.ts'
import { CommandEnd, EXIT_CODES } from './exit-codes.ts'

/** Finds what an operator names on the command line. Each ends the command with `notFound` if there is no such thing. */

/** Accepts the whole id, or a prefix that matches only one job. */
export async function findJobId(client: Client, text: string): Promise<JobId> {
  if (JOB_ID_PATTERN.test(text)) return text as JobId
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

/** Accepts an id, or a whole name that only one schedule has. */
export async function findSchedule(client: Client, text: string): Promise<Schedule> {
  if (/^[0-9a-f]{32}$/.test(text)) return client.schedules.get({ id: text })
  const { schedules } = await client.schedules.list({ text, limit: 500, recent: 0 })
  const named = schedules.filter(({ name }) => name === text)
  if (named.length === 1) return named[0] as Schedule
  const what =
    named.length === 0
      ? `There is no schedule ${text}; "scrapdeck schedules list" shows all schedules.`
      : `Several schedules are named ${text}. Use an id from "scrapdeck schedules list".`
  throw new CommandEnd(EXIT_CODES.notFound, what)
}

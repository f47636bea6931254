import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { BareDatabase } from './bare-database.ts'
import { PROJECTS } from './seed-busy-database.ts'

/**
 * The number of jobs per transaction, and of concurrent groups. While some groups wait for their nodes, others are
 * written.
 */
const GROUP = 64
const GROUPS_AT_ONCE = 4

/** Sends jobs with the least possible work: attempt on disk, POST, acceptance on disk. Returns jobs per second. */
export async function dispatchBare(urls: readonly string[], jobs: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-bare-'))
  const database = await BareDatabase.open(directory)
  const dispatcher = new Agent()
  try {
    const queued = Array.from({ length: jobs }, (_, index) => ({
      id: database.newId(),
      project: PROJECTS[index % PROJECTS.length]!,
      spider: 's0',
      url: urls[index % urls.length]!
    }))
    database.enqueue(queued)
    const post = async ({ id, project, spider, url }: (typeof queued)[number]) => {
      const body = new URLSearchParams({ project, spider, jobid: id, _version: '1' }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await request(`${url}schedule.json`, { method: 'POST', headers, body, dispatcher })
      await answer.body.json()
    }
    const beganAtMs = performance.now()
    let next = 0
    const work = async () => {
      while (next < jobs) {
        const group = queued.slice(next, next + GROUP)
        next += GROUP
        const ids = group.map(({ id }) => id)
        database.begin(ids, 'bare')
        await Promise.all(group.map(post))
        database.move(ids, 'accepted')
      }
    }
    await Promise.all(Array.from({ length: GROUPS_AT_ONCE }, work))
    return (jobs * 1_000) / (performance.now() - beganAtMs)
  } finally {
    database.close()
    await dispatcher.close()
    await rm(directory, { recursive: true, force: true })
  }
}

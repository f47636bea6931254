import { NodeError } from '../node-client.ts'
import type { ListJobsAnswer } from './answers.ts'
import { type Connection, collectBody } from './connection.ts'
import { needsProject } from './refusals.ts'

/**
 * Scrapyd does not report its version, but its behaviour shows it (scrapyd-protocol.md, 9). Over HTTP, 1.5 and 1.6
 * differ only in what a numeric signal does to a running job, so telling them apart would affect somebody's job.
 */
export async function probeVersion(
  connection: Connection,
  listJobsOfAll: () => Promise<ListJobsAnswer>,
  signal?: AbortSignal
): Promise<string> {
  const ignored = collectBody(64_000)
  const options = await connection.send(
    { method: 'OPTIONS', path: 'daemonstatus.json', timeoutMs: 5000, receive: ignored.receive },
    signal
  )
  if (options.status === 204) return '1.5+'
  try {
    const { finished } = await listJobsOfAll()
    if (finished.length === 0) return '1.3 or 1.4'
    return finished.some((job) => job.log_url !== undefined) ? '1.4' : '1.3'
  } catch (error) {
    if (error instanceof NodeError && needsProject(error.nodeMessage ?? '')) return '1.2'
    throw error
  }
}

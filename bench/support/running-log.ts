import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { uploadDemo } from '../../e2e/support/demo-egg.ts'
import { type Service, startService } from '../../e2e/support/service.ts'
import { ensureServiceBuilt } from '../../scripts/setup/build.mjs'
import { until } from '../../src/engine/testing/until.ts'
import type { JobId } from '../../src/shared/contract/index.ts'

export interface RunningLog {
  service: Service
  jobId: JobId
  /** The log file of a run on the local node. Benches append to it. */
  path: string
  stop(): Promise<void>
}

export async function startRunningLog(): Promise<RunningLog> {
  await ensureServiceBuilt()
  const dataDirectory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-log-'))
  const service = await startService({ entry: 'out/service/scrapdeck.js', dataDirectory, localSlots: 1 })
  const stop = async () => {
    await service.kill()
    rmSync(dataDirectory, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await uploadDemo(service, 'v1')
    const { jobs } = await service.client.jobs.run({ project: 'demo', spiders: ['slow'], args: { seconds: '600' } })
    const jobId = jobs[0]!.id
    await until('the run', async () => (await service.client.jobs.get({ id: jobId })).job.state === 'running')
    return { service, jobId, path: (await until('its log', () => logFile(dataDirectory)))!, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function logFile(dataDirectory: string): string | null {
  const directory = join(dataDirectory, 'local', 'logs', 'demo', 'slow')
  try {
    const name = readdirSync(directory)[0]
    return name === undefined ? null : join(directory, name)
  } catch {
    return null
  }
}

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startService } from '../support/service.ts'

const ENTRY = 'out/service/scrapdeck.js'

/** Checks the self-made certificate against Mozilla's "intermediate". Rejects with SSLyze's objections. */
export async function scanOwnTls(programs: string): Promise<string[]> {
  const service = await startService({ entry: ENTRY, localSlots: 0, arguments: ['--tls-self-made'] })
  try {
    const { port } = new URL(service.address)
    const authority = join(service.dataDirectory, 'tls', 'ca.pem')
    const args = [`--certinfo_ca_file=${authority}`, '--mozilla_config=intermediate']
    const { stdout } = await promisify(execFile)(join(programs, 'sslyze'), [...args, `localhost:${port}`], {
      timeout: 120_000
    }).catch((error: { stdout?: string; message: string }) => ({ stdout: error.stdout || error.message }))
    if (!/: OK - Compliant/.test(stdout)) throw new Error(stdout.slice(-2_000))
    if (!/Received Chain Order: +OK/.test(stdout)) throw new Error(`The chain is not trusted:\n${stdout}`)
    return ['compliant']
  } finally {
    await service.stop()
  }
}

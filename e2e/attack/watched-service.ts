import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { type Service, startService } from '../support/service.ts'
import { type ProcessMemory, readMemory, resetPeak } from './process-memory.ts'
import type { LoopDelay } from './watch-inside.ts'

export interface WatchedService {
  service: Service
  /** The event-loop delay of the service since the last call and since its start. */
  loopDelay(): Promise<LoopDelay>
  memory(): ProcessMemory
  resetPeak(): void
  descriptors(): number
  isRunning(): boolean
  stop(): Promise<void>
}

export async function startWatchedService(options: { entry?: string; arguments?: string[] }): Promise<WatchedService> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-attack-'))
  const socketPath = join(directory, 'watch.sock')
  const inside = pathToFileURL(join(import.meta.dirname, 'watch-inside.ts'))
  const service = await startService({
    localSlots: 0,
    ...options,
    environment: { ATTACK_WATCH: socketPath, NODE_OPTIONS: `--import ${inside.href}` }
  })
  const pid = service.pid()!
  return {
    service,
    loopDelay: async () => JSON.parse(await text(createConnection(socketPath))) as LoopDelay,
    memory: () => readMemory(pid),
    resetPeak: () => resetPeak(pid),
    descriptors: () => readdirSync(`/proc/${pid}/fd`).length,
    isRunning: () => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    },
    async stop() {
      await service.stop()
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Service, startService } from '../support/service.ts'

export interface EngineOptions {
  name: string
  dataDirectory: string
  /** The first engine's data directory: all engines need the same encryption key. */
  keyFrom: string | null
  blobs: string
  database: string
  entry: string | undefined
  environment?: Record<string, string>
}

export class ChaosEngine {
  readonly name: string
  readonly service: Service
  /** Whether the engine's process is stopped or about to be started. */
  isAway = false
  endedItself = 0

  private constructor(name: string, service: Service) {
    this.name = name
    this.service = service
  }

  static async start(options: EngineOptions): Promise<ChaosEngine> {
    const { name, dataDirectory, keyFrom, blobs, database, entry, environment } = options
    mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
    if (keyFrom !== null) cpSync(join(keyFrom, 'secret.key'), join(dataDirectory, 'secret.key'))
    const service = await startService({
      dataDirectory,
      localSlots: 0,
      entry,
      arguments: [`--store=${database}`, `--blobs=${blobs}`],
      environment: { SCRAPDECK_ENGINE_NAME: name, ...environment }
    })
    return new ChaosEngine(name, service)
  }

  get isRunning(): boolean {
    const pid = this.service.pid()
    if (pid === null) return false
    try {
      process.kill(pid, 0)
      return true
    } catch {
      return false
    }
  }

  /** Whether the engine responds as the leader. null: no response. */
  async leads(): Promise<boolean | null> {
    try {
      const response = await fetch(`${this.service.address}/health/live`, { signal: AbortSignal.timeout(1_000) })
      return ((await response.json()) as { leads?: boolean }).leads !== false
    } catch {
      return null
    }
  }

  /** Sends the signal, unless the engine has already ended on its own. The report then gives the reason. */
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    const pid = this.service.pid()
    if (pid !== null && this.isRunning) process.kill(pid, name)
  }

  async startAgain(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        return await this.service.start()
      } catch {
        // The database is unavailable.
      }
    }
  }
}

import type { Worker } from 'node:worker_threads'
import type { Logger } from '../engine/runtime/logger.ts'
import type { CertificateFiles } from '../server/certificate-files.ts'

export interface RunningService {
  address: string
  /** Returns null if another engine leads. */
  createLoginLink(): string | null
  /** Rejects if the request handlers cannot be loaded. */
  loaded: Promise<void>
  stop(): Promise<void>
  isStopped(): boolean
}

export interface ServiceParts {
  logger: Logger
  storeThread: Worker
  certificate: CertificateFiles | null
}

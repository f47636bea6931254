/** What a started service offers to the process that runs it. */
export interface RunningService {
  address: string
  /** null: another engine leads. */
  createLoginLink(): string | null
  /** Rejects if what answers requests cannot be loaded. */
  loaded: Promise<void>
  stop(): Promise<void>
  isStopped(): boolean
}

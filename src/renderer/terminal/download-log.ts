import type { JobId, AttemptNumber } from '../../shared/contract/index.ts'
import { saveFile } from '../ui/save-file.ts'
import type { LogsClient } from './follow-log.ts'

export interface DownloadLogOptions {
  readonly logs: Pick<LogsClient, 'read'>
  readonly jobId: JobId
  readonly attemptNumber?: AttemptNumber | undefined
  readonly fileName: string
  readonly onProgress: (share: number) => void
}

export async function downloadLog(options: DownloadLogOptions): Promise<void> {
  const parts = await readWholeLog(options)
  saveFile(options.fileName, parts, 'text/plain;charset=utf-8')
}

/** Reads up to the size that the first chunk reports, even if the log grows faster than it is read. */
export async function readWholeLog({
  logs,
  jobId,
  attemptNumber,
  onProgress
}: Omit<DownloadLogOptions, 'fileName'>): Promise<string[]> {
  const parts: string[] = []
  let offset = 0
  let endBytes = Number.POSITIVE_INFINITY
  while (offset < endBytes) {
    const chunk = await logs.read({ jobId, attemptNumber, offset, limitBytes: READ_BYTES })
    if (endBytes === Number.POSITIVE_INFINITY) endBytes = chunk.sizeBytes
    if (chunk.nextOffset <= offset) break
    parts.push(chunk.text)
    offset = chunk.nextOffset
    onProgress(Math.min(1, offset / Math.max(1, endBytes)))
  }
  return parts
}

const READ_BYTES = 4_194_304

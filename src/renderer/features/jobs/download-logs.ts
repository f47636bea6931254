import type { JobId } from '../../../shared/contract/index.ts'
import type { Client } from '../../api/wire.ts'
import { bytesOf } from '../../ui/base64.ts'
import { saveFile } from '../../ui/save-file.ts'

export interface DownloadLogsOptions {
  readonly logs: Pick<Client['logs'], 'zip'>
  readonly jobIds: JobId[]
  readonly signal: AbortSignal
  /** How many logs were added so far. */
  readonly onProgress: (logs: number) => void
}

/** Hands the logs of these jobs to the browser as one zip archive. In pieces: the desktop's wire knows no downloads. */
export async function downloadLogs({ logs, jobIds, signal, onProgress }: DownloadLogsOptions): Promise<void> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  for await (const piece of await logs.zip({ jobIds }, { signal })) {
    parts.push(bytesOf(piece.base64))
    onProgress(piece.logs)
  }
  saveFile('logs.zip', parts, 'application/zip')
}

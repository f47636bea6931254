import { ActionIcon, Button } from '@mantine/core'
import { IconDownload, IconX } from '@tabler/icons-react'
import { type Job, MAX_ZIPPED_LOGS, type JobId } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useDownload } from '../../ui/use-download.ts'
import type { Client } from '../../api/wire.ts'
import { bytesOf } from '../../ui/base64.ts'
import { saveFile } from '../../ui/save-file.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

export function DownloadLogsButton({ jobs }: { jobs: readonly Job[] }) {
  const { client } = useApi()
  const { progress: done, start, cancel } = useDownload(texts.couldNotDownloadLogs)
  const begun = jobs.filter(({ attemptCount }) => attemptCount > 0)

  const download = () =>
    start(async (signal, onProgress) => {
      await downloadLogs({ logs: client.logs, jobIds: begun.map(({ id }) => id), signal, onProgress })
      return texts.logsDownloaded(begun.length)
    })

  if (done !== null) {
    return (
      <span role="status">
        {texts.downloadingLogs(done, begun.length)}
        <ActionIcon aria-label={texts.cancelDownload} onClick={cancel}>
          <IconX size={14} />
        </ActionIcon>
      </span>
    )
  }
  const problem =
    begun.length === 0
      ? texts.noLogsToDownload
      : begun.length > MAX_ZIPPED_LOGS
        ? texts.tooManyLogs(MAX_ZIPPED_LOGS)
        : undefined
  return (
    <Button
      leftSection={<IconDownload size={14} />}
      disabled={problem !== undefined}
      title={problem ?? texts.downloadLogsHint}
      onClick={() => void download()}
    >
      {texts.downloadLogs(begun.length)}
    </Button>
  )
}

interface DownloadLogsOptions {
  readonly logs: Pick<Client['logs'], 'zip'>
  readonly jobIds: JobId[]
  readonly signal: AbortSignal
  readonly onProgress: (logs: number) => void
}

/** Saves the logs as one zip archive. Reads it in pieces, because the desktop's transport cannot download files. */
async function downloadLogs({ logs, jobIds, signal, onProgress }: DownloadLogsOptions): Promise<void> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  for await (const piece of await logs.zip({ jobIds }, { signal })) {
    parts.push(bytesOf(piece.base64))
    onProgress(piece.logs)
  }
  saveFile('logs.zip', parts, 'application/zip')
}

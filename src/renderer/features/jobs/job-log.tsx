import { ActionIcon, Tooltip, Button } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { AttemptNumber, Job, JobDetail, Attempt } from '../../../shared/contract/index.ts'
import { keptBytesOfCutLog } from '../../../shared/cut-log.ts'
import { useApi } from '../../api/api.tsx'
import { useRunFigures } from '../../state/use-run-figures.ts'
import { LogTerminal } from '../../terminal/log-terminal.tsx'
import { AttemptSelect } from './attempt-select.tsx'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { plainText } from '../../terminal/sanitise.ts'
import { CodeBlock } from '../../ui/panel.tsx'
import { RowsSkeleton } from '../../ui/states.tsx'
import { texts } from '../../../shared/texts/ui/jobs.ts'

export interface JobLogProps {
  detail: JobDetail
  attemptNumber: AttemptNumber | undefined
  onAttempt: (number: AttemptNumber) => void
  nodeName: (id: string) => string
}

export function JobLog({ detail: { job, attempts, timeline }, attemptNumber, onAttempt, nodeName }: JobLogProps) {
  const { client } = useApi()
  const newest = attempts.at(-1)?.number
  const number = attemptNumber ?? newest
  const figures = useRunFigures(job.id, number)
  const attempt = attempts.find((each) => each.number === number)
  const name = `${job.project}/${job.spider}`
  return (
    <>
      <AttemptSelect attempts={attempts} number={number} onAttempt={onAttempt} nodeName={nodeName} />
      <LogTerminal
        key={`${job.id} ${number ?? 0}`}
        client={client}
        jobId={job.id}
        attemptNumber={number}
        title={attempt === undefined ? name : texts.logTitle(name, nodeName(attempt.nodeId))}
        fileName={logFileName(job, number)}
        waitingText={waitingText(job)}
        records={figures?.records}
        isCut={keptBytesOfCutLog(timeline, number) !== null}
        hasKeys
        extraActions={
          <Tooltip label={texts.openInLogsHint}>
            <ActionIcon
              component={Link}
              to="/logs"
              search={{ jobs: [job.id], job: job.id } as never}
              aria-label={texts.openInLogs}
            >
              <IconExternalLink size={16} />
            </ActionIcon>
          </Tooltip>
        }
      />
      {attempt?.exitCode === 0 && <PrintedOutput key={`printed ${job.id} ${attempt.number}`} attempt={attempt} />}
    </>
  )
}

function logFileName(job: Job, attemptNumber: AttemptNumber | undefined): string {
  const attempt = attemptNumber === undefined || attemptNumber === 1 ? '' : `-${attemptNumber}`
  return `${job.project}-${job.spider}-${job.jobid}${attempt}.log`.replace(/[^\w.-]+/g, '_')
}

function waitingText(job: Job): string {
  if (job.state === 'queued') return texts.logWaiting(job.waiting?.text ?? texts.nextInQueue)
  return job.state === 'starting' ? texts.logStarting : texts.logEmpty
}

const READ_BYTES = 65_536

/** What the run printed outside its log, loaded on request. The log of a failed run already contains this output. */
function PrintedOutput({ attempt: { jobId, number } }: { attempt: Attempt }) {
  const { query } = useApi()
  const [isOpen, setOpen] = useState(false)
  const input = { jobId, attemptNumber: number, offset: -READ_BYTES, limitBytes: READ_BYTES, printed: true }
  const printed = useQuery(query.logs.read.queryOptions({ input, enabled: isOpen, retry: false, staleTime: Infinity }))
  return (
    <div>
      <Button variant="subtle" size="compact-sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {texts.printedOutput}
      </Button>
      {isOpen && printed.isPending && <RowsSkeleton rows={2} />}
      {isOpen && printed.isError && <p className="dim">{texts.noPrintedOutput}</p>}
      {isOpen && printed.data !== undefined && (
        <CodeBlock label={texts.printedOutput}>{printed.data.text.split('\n').map(plainText).join('\n')}</CodeBlock>
      )}
    </div>
  )
}

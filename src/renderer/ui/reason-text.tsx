import { Tooltip } from '@mantine/core'
import type { Job } from '../../shared/contract/index.ts'
import { texts } from '../../shared/texts/ui/shared.ts'
import { explainReason } from './outcome-reasons.ts'

export function ReasonText({ job }: { job: Pick<Job, 'reason' | 'reasonCode' | 'reasonParams'> }) {
  const reason = job.reason ?? ''
  const known = explainReason(job)
  if (known === null) return <strong>{reason}</strong>
  const { label, hint, zyte } = known
  return (
    <Tooltip label={zyte === null || zyte === reason ? hint : texts.scrapyCloudReason(hint, zyte)} multiline maw={360}>
      <span tabIndex={0}>
        <strong>{reason}</strong>
        {label !== '' && !reason.toLowerCase().includes(label.toLowerCase()) && <span className="dim"> {label}</span>}
      </span>
    </Tooltip>
  )
}

import { Tooltip } from '@mantine/core'
import { explainReason } from '../../shared/outcome-reasons.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

/** Why a job ended, with a word for it and an explanation, if it is a known reason. */
export function ReasonText({ reason }: { reason: string }) {
  const known = explainReason(reason)
  if (known === null) return <strong>{reason}</strong>
  const { label, text, zyte } = known
  return (
    <Tooltip label={zyte === null || zyte === reason ? text : texts.scrapyCloudReason(text, zyte)} multiline maw={360}>
      <span tabIndex={0}>
        <strong>{reason}</strong>
        {label !== 'Failed' && !reason.toLowerCase().includes(label.toLowerCase()) && (
          <span className="dim"> {label}</span>
        )}
      </span>
    </Tooltip>
  )
}

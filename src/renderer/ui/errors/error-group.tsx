import { IconAlertTriangleFilled, IconBellOff, IconCheck } from '@tabler/icons-react'
import type { ErrorGroup, ErrorOccurrence, ErrorState } from '../../../shared/contract/index.ts'
import { formatInstant } from '../time.tsx'
import classes from './error-group.module.css'
import { texts } from '../../../shared/texts/ui/shared.ts'

const STATE_LOOK: Record<ErrorState, { tone: string; Icon: typeof IconCheck; word: string }> = {
  open: { tone: 'bad', Icon: IconAlertTriangleFilled, word: texts.errorOpen },
  resolved: { tone: 'ok', Icon: IconCheck, word: texts.errorResolved },
  ignored: { tone: 'off', Icon: IconBellOff, word: texts.errorIgnored }
}

/** Marks a resolved error that was logged again as reopened. */
export function ErrorStateText({ group }: { group: Pick<ErrorGroup, 'state' | 'stateAtMs' | 'reopenedAtMs'> }) {
  const { tone, Icon, word } = STATE_LOOK[group.state]
  const title =
    group.reopenedAtMs !== null
      ? texts.errorReopened(formatInstant(group.reopenedAtMs))
      : group.stateAtMs === null
        ? undefined
        : texts.errorStateSince(formatInstant(group.stateAtMs))
  return (
    <span className={`${classes.state} tone-${tone} fixed`} title={title}>
      <Icon size={13} stroke={2.2} aria-hidden />
      {group.reopenedAtMs === null ? word : texts.errorReopenedState}
    </span>
  )
}

export const logSearchOf = ({ jobId, line }: Pick<ErrorOccurrence, 'jobId' | 'line'>) => ({
  jobs: [jobId],
  job: jobId,
  line: String(line)
})

import { Select } from '../../ui/fields/select.tsx'
import type { Attempt, AttemptNumber } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

interface AttemptSelectProps {
  attempts: readonly Attempt[]
  number: AttemptNumber | undefined
  onAttempt: (number: AttemptNumber) => void
  nodeName: (id: string) => string
}

export function AttemptSelect({ attempts, number, onAttempt, nodeName }: AttemptSelectProps) {
  if (attempts.length < 2) return null
  return (
    <Select
      aria-label={texts.attempt}
      value={String(number)}
      allowDeselect={false}
      data={attempts.map((each) => ({
        value: String(each.number),
        label: texts.attemptOnNode(each.number, nodeName(each.nodeId))
      }))}
      onChange={(value) => value !== null && onAttempt(Number(value) as AttemptNumber)}
    />
  )
}

import type { ItemsFacts, AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import { formatBytes, plural } from '../numbers.ts'

const FORMATS = { jsonl: 'JSON lines', json: 'JSON', csv: 'CSV' }

/** `1,204 items · 4.1 MB of JSON lines · 3 unreadable lines`. */
export function describeFacts(facts: ItemsFacts): string {
  const { items, unreadable, sizeBytes, format, endsInside, mayGrow } = facts
  const parts = [
    items !== null && plural(items, 'item'),
    `${formatBytes(sizeBytes)} of ${FORMATS[format]}`,
    unreadable !== null && unreadable > 0 && plural(unreadable, 'unreadable line'),
    endsInside && !mayGrow && 'the last item is incomplete',
    mayGrow && 'still running'
  ]
  return parts.filter((part) => part !== false).join(' · ')
}

/** Whose items: of the job's last attempt, or of this one. */
export interface ItemsOf {
  jobId: JobId
  attemptNumber?: AttemptNumber | undefined
}

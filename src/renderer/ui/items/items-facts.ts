import type { ItemsFacts, AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import { formatBytes } from '../numbers.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

const FORMATS = { jsonl: texts.jsonLines, json: 'JSON', csv: 'CSV' }

/** `1,204 items · 4.1 MB of JSON lines · 3 unreadable lines`. */
export function describeFacts(facts: ItemsFacts): string {
  const { items, unreadable, sizeBytes, format, endsInside, mayGrow } = facts
  const parts = [
    items !== null && texts.itemCount(items),
    texts.sizeOfFormat(formatBytes(sizeBytes), FORMATS[format]),
    unreadable !== null && unreadable > 0 && texts.unreadableLines(unreadable),
    endsInside && !mayGrow && texts.lastItemIncomplete,
    mayGrow && texts.stillRunning
  ]
  return parts.filter((part) => part !== false).join(' · ')
}

/** Selects the items of a job's attempt. Default: the last attempt. */
export interface ItemsOf {
  jobId: JobId
  attemptNumber?: AttemptNumber | undefined
}

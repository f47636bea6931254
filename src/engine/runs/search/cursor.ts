import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { LogKey } from '../../model/records.ts'

/**
 * Continues before this log; with `offset`: at this byte of it, then before it. Unarchived logs are searched first;
 * `isArchived`: that is done.
 */
export interface SearchPlace extends LogKey {
  isArchived: boolean
  offset: number | null
}

export const encodeCursor = ({ isArchived, jobId, number, offset }: SearchPlace): string =>
  `${isArchived ? '' : 'live.'}${jobId}.${number}${offset === null ? '' : `.${offset}`}`

/** Rejects with BAD_INPUT. */
export function decodeCursor(text: string): SearchPlace {
  const [, live, jobId, number, offset] = /^(live\.)?([0-9a-f]{1,64})\.(\d{1,6})(?:\.(\d{1,15}))?$/.exec(text) ?? []
  if (jobId === undefined)
    throw new ScrapdeckError('BAD_INPUT', `${JSON.stringify(text)} is not the cursor of a search over logs`)
  return {
    isArchived: live === undefined,
    jobId: jobId as JobId,
    number: Number(number) as AttemptNumber,
    offset: offset === undefined ? null : Number(offset)
  }
}

import { ScrapdeckError } from '../../../shared/errors.ts'

/** What is written must be one above what is there; else somebody has changed it since it was read. */
export function requireNextRevision(next: number, present: number | undefined, noun: string): void {
  if (next === (present ?? 0) + 1) return
  throw new ScrapdeckError(
    'CHANGED_MEANWHILE',
    `The ${noun} was changed in the meantime: expected to write revision ${next}, but it is at ${present ?? 0}. Reload it and try again.`
  )
}

import { ScrapdeckError } from '../../../shared/errors.ts'

/** Throws unless the revision to write is one above the stored one: otherwise there was a concurrent change. */
export function requireNextRevision(next: number, present: number | undefined, noun: string): void {
  if (next === (present ?? 0) + 1) return
  throw new ScrapdeckError(
    'CHANGED_MEANWHILE',
    `The ${noun} was changed in the meantime: expected to write revision ${next}, but it is at ${present ?? 0}. Reload it and try again.`
  )
}

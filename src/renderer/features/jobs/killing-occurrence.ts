import type { ErrorGroup, ErrorOccurrence } from '../../../shared/contract/index.ts'

interface LoggedError {
  group: Pick<ErrorGroup, 'exceptionType'>
  occurrence: ErrorOccurrence
}

/**
 * Where a job logged the line that killed it: an error with this text, else the newest with the exception that the line
 * names (`KeyError: 'price'`), of its last attempt. null: not known.
 */
export function occurrenceOf(killingLine: string, errors: readonly LoggedError[]): ErrorOccurrence | null {
  const last = Math.max(0, ...errors.map(({ occurrence }) => occurrence.attemptNumber))
  const newestFirst = errors
    .filter(({ occurrence }) => occurrence.attemptNumber === last)
    .toSorted((one, other) => other.occurrence.lastSeenMs - one.occurrence.lastSeenMs)
  const hasText = ({ occurrence: { message } }: LoggedError) =>
    message !== '' && (killingLine.includes(message) || message.includes(killingLine))
  const type = nameOf(killingLine.split(':', 1)[0]!)
  const hasType = ({ group }: LoggedError) => group.exceptionType !== null && nameOf(group.exceptionType) === type
  return (newestFirst.find(hasText) ?? newestFirst.find(hasType))?.occurrence ?? null
}

/** `builtins.KeyError` and `KeyError` are the same. */
const nameOf = (type: string): string => type.trim().split('.').at(-1)!

export const RECORD_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const
export type RecordLevel = (typeof RECORD_LEVELS)[number]

/** Includes the level names of structlog, loguru and others that Python's logging lacks. */
const WORDS = new Map<string, number>([
  ['TRACE', 0],
  ['DEBUG', 0],
  ['INFO', 1],
  ['NOTICE', 1],
  ['SUCCESS', 1],
  ['WARN', 2],
  ['WARNING', 2],
  ['ERROR', 3],
  ['EXCEPTION', 3],
  ['CRITICAL', 4],
  ['FATAL', 4]
])

export function levelIndexOf(word: string): number {
  return word.length > 9 ? -1 : (WORDS.get(word.toUpperCase()) ?? -1)
}

/** For a numeric level of Python's logging (10, 20 … 50). A number between two levels counts as the lower level. */
export function levelIndexOfNumber(number: number): number {
  return number > 0 && number <= 1000 ? Math.max(0, Math.min(4, Math.floor(number / 10) - 1)) : -1
}

import { ERROR_CODES, ScrapdeckError } from '../../shared/errors.ts'

/** Exit codes of commands that talk to an engine. docs/cli.md explains them, and a test compares the two. */
export const EXIT_CODES = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  unauthorized: 4,
  notFound: 5,
  refused: 6,
  badOutcome: 7,
  timedOut: 8,
  interrupted: 130
} as const

/** Ends the command with this exit code. The message is empty if everything has already been printed. */
export class CommandEnd extends Error {
  readonly exitCode: number

  constructor(exitCode: number, message = '', options: ErrorOptions = {}) {
    super(message, options)
    this.exitCode = exitCode
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandEnd) return error.exitCode
  if (!(error instanceof ScrapdeckError)) return EXIT_CODES.failed
  const { status } = ERROR_CODES[error.code]
  if (status === 401 || status === 403) return EXIT_CODES.unauthorized
  if (status === 404) return EXIT_CODES.notFound
  if (status === 409) return EXIT_CODES.refused
  return status < 500 && status !== 429 ? EXIT_CODES.usage : EXIT_CODES.failed
}

import { isScrapdeckError } from '../../shared/errors.ts'
import { safeJson, withoutControls } from './terminal.ts'
import type { Command } from 'commander'

/**
 * Returns the text for standard error, or an empty string. Removes control characters, because parts of the text are
 * untrusted.
 */
export function textOfError(error: unknown, asJson: boolean): string {
  const message = error instanceof Error ? error.message : String(error)
  if (message === '') return ''
  if (asJson) {
    const details = isScrapdeckError(error) ? { code: error.code, data: error.data } : {}
    return `${safeJson({ error: { message, ...details } })}\n`
  }
  // Indented lines are the output of a program, such as a traceback.
  const isOutput = /\n\s/.test(message)
  const text = message.includes('\n') && !isOutput ? `\n${message.replaceAll(/^/gm, '- ')}` : ` ${message}`
  return `scrapdeck:${withoutControls(text)}\n`
}

/**
 * Prints commander's usage errors like all other errors: as an object for programs, as a sentence with a hint for
 * people.
 */
export function sayUsageErrors(program: Command, isJson: boolean): Command {
  return program.configureOutput({
    outputError(text, write) {
      const message = withoutControls(text.replace(/^error: /, '').trim())
      if (isJson) write(`${JSON.stringify({ error: { message } })}\n`)
      else
        write(
          `scrapdeck: ${message}${/[.?)]$/.test(message) ? '' : '.'} Add --help to a command to see what it takes.\n`
        )
    }
  })
}

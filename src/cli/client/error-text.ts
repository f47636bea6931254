import { isScrapdeckError } from '../../shared/errors.ts'
import { safeJson, withoutControls } from './terminal.ts'
import type { Command } from 'commander'

/**
 * A failed command's line on standard error; empty: nothing to say. The text may come from the engine, a node or a
 * file, so control characters are removed.
 */
export function textOfError(error: unknown, asJson: boolean): string {
  const message = error instanceof Error ? error.message : String(error)
  if (message === '') return ''
  if (asJson) {
    // Our own errors include their code from docs/errors.md, and their data.
    const details = isScrapdeckError(error) ? { code: error.code, data: error.data } : {}
    return `${safeJson({ error: { message, ...details } })}\n`
  }
  // Indented lines continue the previous one: they are output of a program, such as a traceback.
  const isOutput = /\n\s/.test(message)
  // Several problems, as in a configuration file, are printed as a list.
  const text = message.includes('\n') && !isOutput ? `\n${message.replaceAll(/^/gm, '- ')}` : ` ${message}`
  return `scrapdeck:${withoutControls(text)}\n`
}

/** Prints commander's usage errors like all others: an object for programs, a sentence with a hint for people. */
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

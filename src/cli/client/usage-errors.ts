import type { Command } from 'commander'

/**
 * What commander has against a command line is said as all other errors are: for programs as an object, for people with
 * where to look.
 */
export function sayUsageErrors(program: Command, isJson: boolean): Command {
  return program.configureOutput({
    outputError(text, write) {
      const message = text.replace(/^error: /, '').trim()
      if (isJson) write(`${JSON.stringify({ error: { message } })}\n`)
      else
        write(
          `scrapdeck: ${message}${/[.?)]$/.test(message) ? '' : '.'} With --help behind it, a command says what it takes.\n`
        )
    }
  })
}

import type { Command } from 'commander'
import { withoutControls } from './terminal.ts'

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

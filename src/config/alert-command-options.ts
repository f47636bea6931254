import { existsSync } from 'node:fs'
import { isAbsolute, resolve as resolvePath } from 'node:path'
import type { EngineOptions } from '../engine/index.ts'

export type AlertCommand = NonNullable<EngineOptions['alertCommands']>[number]

const NAME = /^([A-Za-z0-9_-]{1,60})=(.+)$/
const WORD = /"([^"]*)"|'([^']*)'|([^\s"']+)/g
const WORDS_ONLY = /^(?:"[^"]*"|'[^']*'|[^\s"']+)(?:\s+(?:"[^"]*"|'[^']*'|[^\s"']+))*$/

/** Parses `alert_commands`: one `NAME=/PATH/PROGRAM ARGUMENT …` per line. No shell is involved. */
export function readCommandLines(
  text: string,
  workingDirectory: string
): { commands: AlertCommand[]; problems: string[] } {
  const commands: AlertCommand[] = []
  const problems: string[] = []
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const read = readLine(line, workingDirectory)
    // Print only the name, because the rest of the line can contain a password.
    if ('problem' in read) problems.push(`alert_commands: ${line.split(/[\s=]+/)[0]}: ${read.problem}`)
    else if (commands.some(({ name }) => name === read.name)) {
      problems.push(`alert_commands: ${read.name} stands twice. Give one of them another name`)
    } else commands.push(read)
  }
  return { commands, problems }
}

function readLine(line: string, workingDirectory: string): AlertCommand | { problem: string } {
  const [, name, rest = ''] = NAME.exec(line) ?? []
  if (name === undefined) return { problem: 'write it as NAME=/PATH/PROGRAM ARGUMENT …' }
  if (!WORDS_ONLY.test(rest)) return { problem: 'a quote is missing, or stands inside a word' }
  const [path = '', ...args] = [...rest.matchAll(WORD)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? ''
  )
  // Do not search PATH for a bare name, because others may be able to write there.
  const program = isAbsolute(path) ? path : resolvePath(workingDirectory, path)
  return existsSync(program) ? { name, program, args } : { problem: `there is no file ${program}` }
}

import { existsSync } from 'node:fs'
import { basename, resolve as resolvePath } from 'node:path'
import type { EngineOptions } from '../engine/index.ts'

export type PluginSettings = NonNullable<EngineOptions['plugins']>[number]

const TIMEOUT_DEFAULT_SECONDS = 5
const MEMORY_DEFAULT_MB = 256

/** Parses `plugins`: one module per line, then our options (name, timeout, memory, on_failure) and the plugin's own. */
export function readPluginLines(
  text: string,
  workingDirectory: string
): { plugins: PluginSettings[]; problems: string[] } {
  const plugins: PluginSettings[] = []
  const problems: string[] = []
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const read = readLine(line, workingDirectory)
    // Print only the first word, because the rest of the line can contain a password.
    if ('problem' in read) problems.push(`plugins: ${line.split(/\s+/)[0]}: ${read.problem}`)
    else if (plugins.some(({ name }) => name === read.plugin.name)) {
      problems.push(`plugins: ${read.plugin.name} stands twice. Give one of them another name with name=`)
    } else plugins.push(read.plugin)
  }
  return { plugins, problems }
}

function readLine(line: string, workingDirectory: string): { plugin: PluginSettings } | { problem: string } {
  const [path, ...words] = line.split(/\s+/)
  const module = resolvePath(workingDirectory, path!)
  if (!existsSync(module)) return { problem: `there is no file ${module}` }
  const options: Record<string, string> = {}
  for (const word of words) {
    const [, key, value] = /^([A-Za-z][A-Za-z0-9_]*)=(.*)$/.exec(word) ?? []
    if (key === undefined) return { problem: 'behind the module stand words such as timeout=5, without blanks in them' }
    options[key] = value!
  }
  const { name = nameOf(module), timeout, memory, on_failure, ...rest } = options
  const seconds = numberOf(timeout, TIMEOUT_DEFAULT_SECONDS, 0.05, 60)
  const memoryMb = numberOf(memory, MEMORY_DEFAULT_MB, 16, 65_536)
  if (!/^[A-Za-z0-9_-]{1,60}$/.test(name)) return { problem: 'name= takes letters, digits, - and _' }
  if (seconds === null) return { problem: 'timeout= takes seconds, from 0.05 to 60' }
  if (memoryMb === null) return { problem: 'memory= takes megabytes, from 16 on' }
  if (on_failure !== undefined && on_failure !== 'send' && on_failure !== 'hold') {
    return { problem: 'on_failure= takes send or hold' }
  }
  const settings = { timeoutMs: seconds * 1000, memoryMb, onFailure: on_failure ?? 'send' } as const
  return { plugin: { name, module, options: rest, ...settings } }
}

function numberOf(text: string | undefined, otherwise: number, least: number, most: number): number | null {
  if (text === undefined) return otherwise
  const value = Number(text)
  return /^\d+(\.\d+)?$/.test(text) && value >= least && value <= most ? value : null
}

function nameOf(module: string): string {
  return basename(module)
    .replace(/\.[^.]*$/, '')
    .replaceAll('.', '-')
}

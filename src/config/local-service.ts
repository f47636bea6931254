import { resolve as resolvePath } from 'node:path'
import { type OptionContext, OptionReader, refuseProblems } from './option-reader.ts'
import { readListening } from './read-scrapyd-options.ts'

/** Reads only what programs on this machine need to find the service. Throws BAD_INPUT like resolveServeOptions. */
export function resolveLocalService(context: OptionContext): { dataDirectory: string; port: number | null } {
  const reader = new OptionReader(context)
  const dataDirectory = readDataDirectory(reader)
  const { port } = readListening(reader)
  refuseProblems(reader.problems)
  return { dataDirectory, port }
}

export function readDataDirectory(options: OptionReader): string {
  const { workingDirectory, defaultDataDirectory } = options.context
  const data = options.pick('scrapdeck', 'data')
  const directory = data === null ? defaultDataDirectory : resolvePath(workingDirectory, data.text)
  options.list('scrapdeck', 'data', directory, data)
  return directory
}

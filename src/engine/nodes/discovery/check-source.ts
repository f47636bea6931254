import { isAbsolute } from 'node:path'
import type { SourceSettings } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { readNodeLines } from './found-node.ts'

const HOSTNAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/i

/** Throws BAD_INPUT for settings that can never name a node. Temporary failures become the source's `problem`. */
export function checkSource(settings: SourceSettings): void {
  const problem = problemOfSource(settings)
  if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
}

function problemOfSource({ source, username }: SourceSettings): string | null {
  if (username?.includes(':')) return 'A user name for Scrapyd cannot contain a colon'
  if (source.kind === 'file') {
    return isAbsolute(source.path) ? null : 'Enter the absolute path of the file on the machine where Scrapdeck runs'
  }
  if (source.kind === 'list') {
    const { nodes, problems } = readNodeLines(source.nodes, { passwords: false })
    if (problems.length > 0) return `The list cannot be used: ${problems.slice(0, 5).join('; ')}`
    return nodes.length > 0 ? null : 'The list has no nodes. Enter one address per line'
  }
  if (!HOSTNAME.test(source.hostname)) return `${JSON.stringify(source.hostname)} is not a host name`
  return /[\s?#\\]/.test(source.basePath)
    ? 'The base path is the part of the address after the port, such as /scrapyd/'
    : null
}

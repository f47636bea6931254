import { isAbsolute } from 'node:path'
import type { SourceSettings } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
import { readNodeLines } from './found-node.ts'

const HOSTNAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/i

/** Throws BAD_INPUT for settings that can never name a node. Temporary failures become the source's `problem`. */
export function checkSource(settings: SourceSettings): void {
  const problem = problemOfSource(settings)
  if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
}

function problemOfSource({ source, username }: SourceSettings): Sentence | null {
  if (username?.includes(':')) return sentence('nodes.user_name_has_colon')
  if (source.kind === 'file') {
    return isAbsolute(source.path) ? null : sentence('nodes.source_path_not_absolute')
  }
  if (source.kind === 'list') {
    const { nodes, problems } = readNodeLines(source.nodes, { passwords: false })
    if (problems.length > 0) return sentence('nodes.source_list_unusable', { problems: problems.slice(0, 5) })
    return nodes.length > 0 ? null : sentence('nodes.source_list_empty')
  }
  if (!HOSTNAME.test(source.hostname)) return sentence('nodes.source_host_invalid', { hostname: source.hostname })
  return /[\s?#\\]/.test(source.basePath) ? sentence('nodes.source_base_path_invalid') : null
}

import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { NodeTag } from '../../../shared/contract/index.ts'
import { splitAddress } from '../../../shared/ssh-address.ts'
import { problemOfShownName } from '../../../shared/unseen.ts'
import { parseNodeUrl } from '../scrapyd/node-url.ts'

/** A node as listed by a source. The source's settings supply missing fields. */
export interface FoundNode {
  /** Normalized by parseNodeUrl. Identifies the node. */
  url: string
  name?: string
  slots?: number
  tags?: string[]
  group?: string
  queueAhead?: number
  username?: string
  password?: string
}

/**
 * The result of reading a source. `problems` describes the parts that could not be read. Nodes in these parts are
 * missing.
 */
export interface Answer {
  nodes: FoundNode[]
  problems: string[]
}

/**
 * The maximum number of lines, several times what one source can add (NODES_MAX). Reading them takes a few dozen
 * milliseconds.
 */
const LINES_MAX = 10_000
/** The maximum number of unreadable lines. A file with more is probably not a list of nodes. */
const PROBLEMS_MAX = 100
const LINE_LENGTH_MAX = 2_000
const NAME_LENGTH_MAX = 100
const HOST_LENGTH_MAX = 255
const OTHER_SCHEME = /^(?!(https?|ssh):)[a-z][a-z0-9+.-]*:\/\//i
const LABEL = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
const HOST = new RegExp(`^(\\[[0-9a-f:.]+\\]|${LABEL}(\\.${LABEL})*\\.?)$`)

/**
 * Reads one address per line: `URL [name=…] [slots=…] [tags=a,b] [group=…] [queue_ahead=…]`. `#` starts a comment.
 * Problems never quote lines, because the operator may have named the wrong file. If several lines have the same
 * address, the first one counts.
 */
export function readNodeLines(text: string, options: { passwords?: boolean } = {}): Answer {
  const nodes = new Map<string, FoundNode>()
  const problems: string[] = []
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  if (lines.length > LINES_MAX)
    return { nodes: [], problems: [`it has more than ${LINES_MAX.toLocaleString('en-US')} lines`] }
  for (const [index, line] of lines.entries()) {
    const content = line.replace(/(^|\s)#.*$/, '').trim()
    if (content === '') continue
    try {
      const node = readLine(content)
      if (node.password !== undefined && options.passwords === false) {
        throw invalid('it contains a password, which a list does not store: set it on the source, or use a file')
      }
      if (!nodes.has(node.url)) nodes.set(node.url, node)
    } catch (error) {
      if (!isScrapdeckError(error)) throw error
      if (problems.length === PROBLEMS_MAX) {
        problems.push(`line ${index + 1} and those after it were not read`)
        break
      }
      problems.push(`line ${index + 1}: ${error.message.replace(/\. An address looks like .*$/, '')}`)
    }
  }
  return { nodes: [...nodes.values()], problems }
}

function readLine(content: string): FoundNode {
  if (content.length > LINE_LENGTH_MAX || /[\p{Cc}\p{Cs}]/u.test(content.replaceAll('\t', ' '))) {
    throw invalid('it is not an address in text form')
  }
  const [address, ...words] = content.split(/\s+/)
  if (OTHER_SCHEME.test(address!)) throw invalid('Scrapyd supports only http and https, also behind ssh://')
  const { url, username, password } = parseNodeUrl(address!)
  // Without this check, nearly every word of an unrelated file would become a node and appear in the UI.
  if (!isHost(new URL(splitAddress(url).inner).hostname)) throw invalid('this is not a host name')
  const node: FoundNode = { url }
  if (username !== null) node.username = username
  if (password !== null) node.password = password
  for (const word of words) {
    const [, key, value] = /^([a-z_]+)=(.+)$/.exec(word) ?? []
    const isName = value !== undefined && value.length <= NAME_LENGTH_MAX && problemOfShownName(value) === null
    if (key === 'name' && isName) node.name = value
    else if (key === 'group' && isName) node.group = value
    else if (key === 'slots') node.slots = readCount(key, value!, 1, 10_000)
    else if (key === 'queue_ahead') node.queueAhead = readCount(key, value!, 0, 1_000)
    else if (key === 'tags') node.tags = readTags(value!)
    else throw invalid('after the address come name=, slots=, tags=, group= or queue_ahead=, each without spaces')
  }
  return node
}

export function isHost(text: string): boolean {
  return text.length <= HOST_LENGTH_MAX && HOST.test(text)
}

function readCount(key: string, text: string, minimum: number, maximum: number): number {
  const count = Number(text)
  if (!/^\d+$/.test(text) || count < minimum || count > maximum) {
    throw invalid(`${key} must be a whole number from ${minimum} to ${maximum}`)
  }
  return count
}

function readTags(text: string): string[] {
  const tags = text.split(',').filter((tag) => tag !== '')
  if (tags.length > 20 || !tags.every((tag) => NodeTag.safeParse(tag).success)) {
    throw invalid('tags must be at most 20 words, separated by commas')
  }
  return tags
}

function invalid(problem: string): ScrapdeckError {
  return new ScrapdeckError('BAD_INPUT', problem)
}

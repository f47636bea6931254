import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { NodeTag } from '../../../shared/contract/index.ts'
import { parseNodeUrl } from '../scrapyd/node-url.ts'

/** A node as a source names it. What it does not say comes from the source's own settings. */
export interface FoundNode {
  /** As nodes keep it (parseNodeUrl): what tells one node from another. */
  url: string
  name?: string
  slots?: number
  tags?: string[]
  group?: string
  queueAhead?: number
  username?: string
  password?: string
}

/** What a source answered. `problems`: unreadable parts, in words; which nodes they would name is unknown. */
export interface Answer {
  nodes: FoundNode[]
  problems: string[]
}

const LINES_MAX = 50_000
const LINE_LENGTH_MAX = 2_000
const NAME_LENGTH_MAX = 100
const HOST_LENGTH_MAX = 255
const OTHER_SCHEME = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\//i
const LABEL = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
/** As URLs have it: in lower case, and Punycode. */
const HOST = new RegExp(`^(\\[[0-9a-f:.]+\\]|${LABEL}(\\.${LABEL})*\\.?)$`)

/**
 * Reads one address a line: `URL [name=…] [slots=…] [tags=a,b] [group=…] [queue_ahead=…]`, comments behind `#`. An
 * unreadable line is named by its number and never quoted: it may be the wrong file. Of an address that stands twice,
 * the first line counts.
 */
export function readNodeLines(text: string, options: { passwords?: boolean } = {}): Answer {
  const nodes = new Map<string, FoundNode>()
  const problems: string[] = []
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  if (lines.length > LINES_MAX) return { nodes: [], problems: [`it has more than ${LINES_MAX} lines`] }
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
  if (OTHER_SCHEME.test(address!)) throw invalid('Scrapyd supports only http and https')
  const { url, username, password } = parseNodeUrl(address!)
  // Without this, nearly every word of a file that holds something else would be a node, and be shown.
  if (!isHost(new URL(url).hostname)) throw invalid('this is not a host name')
  const node: FoundNode = { url }
  if (username !== null) node.username = username
  if (password !== null) node.password = password
  for (const word of words) {
    const [, key, value] = /^([a-z_]+)=(.+)$/.exec(word) ?? []
    if (key === 'name' && value!.length <= NAME_LENGTH_MAX) node.name = value!
    else if (key === 'group' && value!.length <= NAME_LENGTH_MAX) node.group = value!
    else if (key === 'slots') node.slots = readCount(key, value!, 1, 10_000)
    else if (key === 'queue_ahead') node.queueAhead = readCount(key, value!, 0, 1_000)
    else if (key === 'tags') node.tags = readTags(value!)
    else throw invalid('after the address come name=, slots=, tags=, group= or queue_ahead=, each without spaces')
  }
  return node
}

/** Whether these characters make a host, in lower case: a name, or an address as it stands in a URL. */
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

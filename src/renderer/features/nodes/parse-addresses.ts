import { nameOfSshHost, readSshAddress } from '../../../shared/ssh-address.ts'
import { texts } from '../../../shared/texts/ui/nodes.ts'

export interface PastedAddress {
  /** The same for all spellings of one address. */
  key: string
  /** Without credentials. */
  url: string
  username: string | null
  password: string | null
  problem: string | null
}

const LINES_MAX = 1000
const NOT_AN_ADDRESS = texts.addressWrong

/**
 * Reads pasted lines: `host`, `host:port`, `https://user:pass@host/base`, each optionally after `ssh://bastion/`.
 * Ignores the commas, list markers and `#` notes of inventories and scrapyd.cfg files. Merges duplicate addresses.
 */
export function parseAddresses(text: string): PastedAddress[] {
  const found = new Map<string, PastedAddress>()
  for (const line of text.split(/[\r\n]+/).slice(0, LINES_MAX)) {
    const bare = line
      .replace(/(^|\s)#.*$/, '')
      .replace(/^\s*[-*•]\s+/, '')
      .replace(/^\s*url\s*=\s*/, '')
    for (const part of bare.split(/[,;]+/)) {
      const words = part.split(/\s+/).filter(Boolean)
      const addresses =
        words.length < 2 || words.every(looksLikeAddress)
          ? words.map((word) => parseAddress(word.replace(/^["'<]+|["'>]+$/g, '')))
          : [notAnAddress(part.trim())]
      for (const address of addresses) if (!found.has(address.key)) found.set(address.key, address)
    }
  }
  return [...found.values()]
}

/**
 * Whether a word can be an address. Words that are separated only by spaces are parsed as addresses if all of them can
 * be addresses. Otherwise, all of them together are one error.
 */
const looksLikeAddress = (word: string) => /[.:/\d]|^localhost$/i.test(word)

function notAnAddress(text: string): PastedAddress {
  // The text can contain a password, which must not be displayed.
  const url = text.replace(/[^\s/@]*@/g, '…@')
  return { key: text, url, username: null, password: null, problem: NOT_AN_ADDRESS }
}

function parseAddress(word: string): PastedAddress {
  const overSsh = readSshAddress(word)
  if (overSsh === null) return parseHttpAddress(word)
  // The word can contain a password, which must not be displayed.
  const shown = word.replace(/^(ssh:\/\/)[^/]*@/i, '$1…@')
  const nothing = { key: word, url: shown, username: null, password: null }
  if (typeof overSsh === 'string') return { ...nothing, problem: `${overSsh}.` }
  const inner = parseHttpAddress(overSsh.inner)
  const url = `ssh://${nameOfSshHost(overSsh.ssh)}/${inner.url}`
  return inner.problem === null ? { ...inner, key: url, url } : { ...nothing, problem: inner.problem }
}

function parseHttpAddress(word: string): PastedAddress {
  const nothing = { key: word, url: word, username: null, password: null }
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(word) ? word : `http://${word}`
  let url: URL
  try {
    url = new URL(withScheme)
  } catch {
    return { ...nothing, problem: NOT_AN_ADDRESS }
  }
  // URL accepts characters that no host name can have.
  if (!/^(\[[\da-f:.]+\]|[\w.-]+)$/i.test(url.hostname)) return { ...nothing, problem: NOT_AN_ADDRESS }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { ...nothing, problem: texts.addressNeedsHttp }
  // Without a scheme and a port, use Scrapyd's default port.
  if (withScheme !== word && url.port === '' && !/:80(\/|$)/.test(word)) url.port = '6800'
  const [username, password] = [decode(url.username), decode(url.password)]
  url.username = ''
  url.password = ''
  url.hash = ''
  url.search = ''
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return { key: url.href, url: url.href, username: username || null, password: password || null, problem: null }
}

/** Accepts an unencoded `%` in a password. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

import { createHash } from 'node:crypto'
import { type LoggedError, type LoggedException, mainException } from './error-record.ts'
import { isProjectFile, projectPath } from './frame-files.ts'

export interface ErrorFingerprint {
  /** 16 hex digits, the same on every machine. */
  id: string
  /** As in `ValueError: could not convert <text>`. */
  title: string
  /** As in `shop/spiders/prices.py in parse`, or the logger if no frame belongs to the project. */
  culprit: string
  exceptionType: string | null
  /** What the fingerprint is based on. `message`: the text of the record, because there is no exception. */
  because: 'frames' | 'exception' | 'message'
}

const MAX_TITLE = 200
const MAX_CULPRIT = 200
const FRAMES_THAT_COUNT = 3

/**
 * As in Sentry, the innermost project frames determine the group. Without such frames, the exception with its masked
 * text does. Without an exception, the masked message does. The id alone identifies a group. If a changed rule produces
 * another id, a new group starts and the old one remains. Differences from Sentry:
 *
 * - A failed download is identified only by its cause, because Scrapy logs one failure as up to four records.
 * - Only three project frames count, and a recursion counts once. A bug with several callers therefore remains
 *   one group, while two callers of one helper remain distinct.
 * - Source lines do not count. Scrapyd runs eggs, whose source Python often cannot find, so logs contain the same
 *   error with and without them.
 * - The type of the exception always counts, so errors of different types never merge (getsentry/sentry#42006).
 * - Only the last three parts of a path count, because each node deploys a project to a different path.
 * - Every word with a digit is masked, not only known kinds of ids (getsentry/sentry#49681: ids split groups).
 * - Among chained exceptions, only the one raised last counts. Sentry counts all of them.
 * - If there are no project frames, Sentry uses all frames. These depend on the versions of Scrapy and Twisted, which
 *   differ between nodes, so the exception's text decides here.
 */
export function fingerprintOf(error: Pick<LoggedError, 'logger' | 'message' | 'exceptions'>): ErrorFingerprint {
  const exception = mainException(error)
  const frames = exception === null ? [] : projectFrames(exception, error.exceptions)
  const download = failedDownload(error, exception)
  if (download !== null && (download.isKnown || frames.length === 0)) {
    const { type, text, cause } = download
    const title = `${type ?? 'Download failed'}: ${text}`
    const because = type === null ? 'message' : 'exception'
    return { ...grouped('exception', ['download', '', cause], { title, culprit: error.logger, type }), because }
  }
  if (exception === null) {
    // Further lines of a message are mostly data.
    const message = maskedText(firstLine(error.message.trimStart()))
    return grouped('message', [error.logger, message], {
      title: message || error.logger,
      culprit: error.logger,
      type: null
    })
  }
  const type = shortType(exception.type)
  const value = firstLine(exception.value)
  // Python quotes names from the code here, so they are kept. The key of a KeyError can be data, so only the title
  // shows it, as an example.
  const text = maskedText(type === 'KeyError' ? withoutQuotes(value) : value, { keepsNames: QUOTES_CODE.test(type) })
  const shown = type === 'KeyError' && frames.length > 0 ? maskedText(value, { keepsNames: true }) : text
  const title = text === '' ? type : `${type}: ${shown}`
  if (frames.length > 0) return grouped('frames', [type, ...frames], { title, culprit: frames[0] as string, type })
  return grouped('exception', [type, withoutHosts(text)], { title, culprit: error.logger, type })
}

const QUOTES_CODE = /^(?:ModuleNotFound|Import|Name|UnboundLocal|Attribute|Type)Error$/

/** Removes the quotes that Python prints around a sentence, as in `'Spider not found: prices'`. */
function withoutQuotes(value: string): string {
  return /^(['"])([^'"]* [^'"]*)\1$/.exec(value)?.[2] ?? value
}

/** How the retry and robots.txt middlewares and the scraper log a request without a response. */
const FAILED_DOWNLOAD =
  /^(?:Gave up retrying|Error downloading) <[A-Z]{1,20} [^\s>]{1,900}>(?: \(failed \d{1,9} times\))?(?:: (.+))?$/
/** How Twisted prints what ended a connection. The closing brackets can be cut off. */
const FAILURE = /<twisted\.python\.failure\.Failure ([\w.]{1,200})(?:: (.*?))?(?:>\]?)?$/
const CAUSES: [type: string, text: RegExp][] = [
  ['twisted.internet.error.DNSLookupError', /^DNS lookup failed/],
  ['twisted.internet.error.ConnectionRefusedError', /^Connection was refused by other side/],
  ['twisted.internet.error.TimeoutError', /^User timeout caused connection failure|^Getting \S+ took longer than/]
]

const OF_NETWORK = /^twisted\.(?:internet\.error\.|web\._newclient\.ResponseFailed)/

function failedDownload({ message }: Pick<LoggedError, 'message'>, exception: LoggedException | null) {
  const record = FAILED_DOWNLOAD.exec(firstLine(message))
  if (record === null && (exception === null || !OF_NETWORK.test(shortType(exception.type)))) return null
  const given = record?.[1] ?? firstLine(exception?.value ?? '')
  const inner = FAILURE.exec(given)
  const reason = inner === null ? given : (inner[2] ?? '')
  const known = CAUSES.find(([, text]) => text.test(reason))
  // Exceptions from other packages are not network failures.
  if (known === undefined && exception !== null && !/^(?:twisted|scrapy|OpenSSL)\./.test(exception.type)) return null
  const type = known?.[0] ?? inner?.[1] ?? (exception && shortType(exception.type))
  // The last quoted text of an OpenSSL error is the reason. The functions before it change with the version of
  // OpenSSL.
  const words = /'([^']{1,200})'\)\]?$/.exec(reason)?.[1] ?? reason
  // An HTTP status is not an id, so it is not masked.
  const status = /^\d{3} (?=\D)/.exec(words)?.[0] ?? ''
  const text = status + maskedText(words.slice(status.length))
  if (text === '') return null
  const cause = known?.[0] ?? [inner?.[1] ?? '', withoutHosts(text)].join(': ')
  return { type, text, cause, isKnown: record !== null && (known ?? inner) != null }
}

function grouped(
  because: ErrorFingerprint['because'],
  counted: string[],
  { title, culprit, type }: { title: string; culprit: string; type: string | null }
): ErrorFingerprint {
  const id = createHash('sha256')
    .update(JSON.stringify([because, ...counted]))
    .digest('hex')
    .slice(0, 16)
  return {
    id,
    title: title.slice(0, MAX_TITLE) || 'An error without a message',
    culprit: culprit.slice(0, MAX_CULPRIT),
    exceptionType: type,
    because
  }
}

/** Maps exceptions of newer Scrapy versions to the Twisted exceptions of older versions, and merges aliases. */
const OLDER_NAMES = new Map([
  ['scrapy.exceptions.CannotResolveHostError', 'twisted.internet.error.DNSLookupError'],
  ['scrapy.exceptions.DownloadConnectionRefusedError', 'twisted.internet.error.ConnectionRefusedError'],
  ['scrapy.exceptions.DownloadTimeoutError', 'twisted.internet.error.TimeoutError'],
  ['scrapy.exceptions.DownloadFailedError', 'twisted.web._newclient.ResponseFailed'],
  ['twisted.web._newclient.ResponseNeverReceived', 'twisted.web._newclient.ResponseFailed'],
  ['scrapy.exceptions.DownloadCancelledError', 'twisted.internet.defer.CancelledError'],
  ['scrapy.exceptions.UnsupportedURLSchemeError', 'twisted.web.error.SchemeNotSupported']
])

/** Python 2 and Twisted include the module of built-in exceptions. Python 3 does not. */
function shortType(type: string): string {
  return OLDER_NAMES.get(type) ?? type.replace(/^(?:builtins|exceptions)\./, '')
}

/**
 * Returns the project frames of an exception, innermost first. If it has none (for example, because Scrapy raised it
 * while handling a project exception), returns those of the exception before it.
 */
function projectFrames(exception: LoggedException, exceptions: LoggedException[]): string[] {
  const before = exceptions.slice(0, exceptions.indexOf(exception)).filter((each) => each.depth === exception.depth)
  for (const each of [exception, ...before.toReversed()]) {
    const names: string[] = []
    for (const { file, name } of each.frames.toReversed()) {
      if (!isProjectFile(file)) continue
      const frame = `${projectPath(file)} in ${name}`
      if (!names.includes(frame)) names.push(frame)
      if (names.length === FRAMES_THAT_COUNT) break
    }
    if (names.length > 0) return names
  }
  return []
}

/** Masks host names, as in `DNS lookup failed: no results for hostname lookup: shop.example.` */
function withoutHosts(text: string): string {
  return text.replace(/(?:[\p{L}\p{N}-]{1,63}\.){1,10}\p{L}{2,24}\.?/gu, '<host>')
}

function firstLine(text: string): string {
  const end = text.indexOf('\n')
  return end < 0 ? text : text.slice(0, end)
}

const MAX_TEXT = 1000

/**
 * Masks URLs, quoted values and every word with a digit. What remains is text from the program. `keepsNames`: also
 * keeps quoted names.
 */
export function maskedText(text: string, { keepsNames = false } = {}): string {
  const isName = (quoted: string) => keepsNames && NAME.test(quoted)
  return (
    text
      .slice(0, MAX_TEXT)
      .replace(URL, '<url>')
      .replace(QUOTED, (quoted) => (isName(quoted) ? quoted : '<text>'))
      .replace(WITH_DIGIT, (id, at: number, all: string) =>
        isName(all.slice(at - 1, at + id.length + 1)) ? id : '<id>'
      )
      // A list of any length counts as one value.
      .replace(REPEATED, '<id>')
      .replace(/\s{1,1000}/g, ' ')
      .trim()
  )
}

/** Brackets and punctuation at the end belong to the surrounding sentence. */
const URL = /\b[a-zA-Z][a-zA-Z\d+.-]{1,20}:\/\/[^\s<>"'`]{0,1000}[^\s<>"'`)\]},.;:]/g
/**
 * A quote has no letter on its outer side, unlike the apostrophe in `don't`. A quote that is still open at the end
 * of the text was cut off.
 */
const QUOTED =
  /(?<![\p{L}\p{N}_])[bBfFrRuU]{0,2}(?:'(?:[^'\\\n]|\\.){0,1000}(?:'|$)|"(?:[^"\\\n]|\\.){0,1000}(?:"|$)|`[^`\n]{1,1000}(?:`|$))(?![\p{L}\p{N}_])/gu
const NAME = /^'[\p{L}_][\p{L}\p{N}_.-]{0,80}'$/u
/** Characters of ids, numbers, times, addresses and paths, with a digit anywhere among them. */
const WITH_DIGIT = /(?<![\p{L}\p{N}_.:,/@%#+-])[\p{L}\p{N}_.:,/@%#+-]{0,1000}\p{N}[\p{L}\p{N}_.:,/@%#+-]{0,1000}/gu
const REPEATED = /<(?:id|text|url)>(?:[\s,;]{1,4}<(?:id|text|url)>){1,1000}/g

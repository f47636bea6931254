import { createHash } from 'node:crypto'
import { type LoggedError, type LoggedException, mainException } from './error-record.ts'
import { isProjectFile, projectPath } from './frame-files.ts'
import { maskedText } from './masked-text.ts'

/** Which errors are the same one. */
export interface ErrorFingerprint {
  version: number
  /** 16 hex digits; the same on every machine. */
  id: string
  /** What to call the group: `ValueError: could not convert <text>`. */
  title: string
  /** Where it happens: `shop/spiders/prices.py in parse`, else the logger. */
  culprit: string
  /** null: no exception was logged. */
  exceptionType: string | null
  /** What decided; `message`: there is no exception, so the text of the record did. */
  because: 'frames' | 'exception' | 'message'
}

/** A change of any rule below is a new version: groups of two versions are not compared. */
export const FINGERPRINT_VERSION = 1

const MAX_TITLE = 200
const MAX_CULPRIT = 200
const FRAMES_THAT_COUNT = 3

/**
 * Sentry's order: the innermost frames of the project, else the exception with its masked text, else the masked
 * message. Different from Sentry:
 *
 * - Three frames count, not all of the project's, and a recursion counts once: the same bug reached on another way
 *   stays one group, while two callers of one helper are still told apart.
 * - Source lines do not count. Scrapyd runs eggs, whose source Python often cannot find, so the same error would be
 *   logged with and without them.
 * - The type of the exception always counts, so errors of different types never merge (getsentry/sentry#42006), and a
 *   path counts with its last three parts only, because each node deploys a project somewhere else.
 * - Every word with a digit is masked, not only known kinds of ids (getsentry/sentry#49681: ids split groups).
 * - In a chain the exception raised last decides alone; Sentry counts all of them.
 * - If the project has no frame, Sentry groups by all frames. They change with the version of Scrapy and Twisted, and
 *   nodes have different ones, so the exception's text decides.
 */
export function fingerprintOf(error: Pick<LoggedError, 'logger' | 'message' | 'exceptions'>): ErrorFingerprint {
  const exception = mainException(error)
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
  const frames = projectFrames(exception, error.exceptions)
  const text = maskedText(firstLine(exception.value))
  const title = text === '' ? type : `${type}: ${text}`
  if (frames.length > 0) return grouped('frames', [type, ...frames], { title, culprit: frames[0] as string, type })
  return grouped('exception', [type, withoutHosts(text)], { title, culprit: error.logger, type })
}

function grouped(
  because: ErrorFingerprint['because'],
  counted: string[],
  { title, culprit, type }: { title: string; culprit: string; type: string | null }
): ErrorFingerprint {
  // JSON keeps the parts apart, whatever they contain.
  const id = createHash('sha256')
    .update(JSON.stringify([because, ...counted]))
    .digest('hex')
    .slice(0, 16)
  return {
    version: FINGERPRINT_VERSION,
    id,
    title: title.slice(0, MAX_TITLE) || 'An error without a message',
    culprit: culprit.slice(0, MAX_CULPRIT),
    exceptionType: type,
    because
  }
}

/** Python 2 and Twisted name the module of built-in exceptions, Python 3 does not. */
function shortType(type: string): string {
  return type.replace(/^(?:builtins|exceptions)\./, '')
}

/**
 * The innermost frames of the project, the innermost first. An exception of a library that has none, such as one that
 * Scrapy raised from the project's, borrows those of the exception before it.
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

/** `DNS lookup failed: no results for hostname lookup: shop.example.` */
function withoutHosts(text: string): string {
  return text.replace(/(?:[\p{L}\p{N}-]{1,63}\.){1,10}\p{L}{2,24}\.?/gu, '<host>')
}

function firstLine(text: string): string {
  const end = text.indexOf('\n')
  return end < 0 ? text : text.slice(0, end)
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FleetAsScrapyd } from '../../engine/api/scrapyd-commands/scrapyd-commands.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import type { FileTree, ScrapydFile } from '../../engine/api/scrapyd-commands/scrapyd-shapes.ts'
import { directoryPage, contentTypeOf } from './directory-page.ts'
import { NO_SUCH_FILE, redirectTo, refuseMethod, sendPage } from './twisted-pages.ts'

/** Serves `/logs/…` and `/items/…` like Scrapyd, with listings, ranges and dates (scrapyd-protocol.md, 7.1). */
export async function answerFile(
  scrapyd: FleetAsScrapyd,
  tree: FileTree,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  refuseAsPart(request)
  // Do not use Fastify's decoded wildcard, which does not distinguish an encoded slash from a real slash.
  const [rawPath = '', ...query] = (request.raw.url ?? '').split('?')
  const path = rawPath.replace(/\/+/g, '/')
  const isBare = path === `/${tree}`
  const segments = isBare ? [] : decodeSegments(path.slice(`/${tree}/`.length))
  const wantsDirectory = segments?.at(-1) === ''
  const found =
    segments === null ? null : await scrapyd.openFile(tree, wantsDirectory ? segments.slice(0, -1) : segments)
  if (found === null || (wantsDirectory && found.kind === 'file')) return sendPage(request, reply, NO_SUCH_FILE, 404)
  const search = query.length === 0 ? '' : `?${query.join('?')}`
  if (found.kind === 'directory' && wantsDirectory) {
    return sendPage(request, reply, directoryPage(decodeLeniently(path + search), found.entries))
  }
  const refused = refuseMethod(request, reply)
  if (refused !== null) return refused
  if (found.kind === 'directory') return redirectTo(request, reply, `${path}/${search}`)
  return sendFile(found, segments?.at(-1) ?? '', request, reply)
}

/**
 * The policy for files that spiders wrote. They are served from the UI's origin, so the policy gives them a separate
 * origin without scripts or forms.
 */
const FILE_POLICY = "default-src 'none'; sandbox; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/**
 * The values of Sec-Fetch-Dest for which files are served. With these, browsers can show or save the files, but not run
 * them in our pages.
 */
const DESTINATIONS = new Set(['document', 'empty', 'image', 'audio', 'video'])

/**
 * The UI's policy allows scripts from its own origin, which these files share. Throws FORBIDDEN_ORIGIN if a page
 * requests one as its script, style, worker or frame.
 */
function refuseAsPart({ headers }: FastifyRequest): void {
  const destination = headers['sec-fetch-dest']
  if (typeof destination !== 'string' || DESTINATIONS.has(destination)) return
  throw new ScrapdeckError(
    'FORBIDDEN_ORIGIN',
    sentence('server.not_within_page', { destination: JSON.stringify(destination.slice(0, 20)) })
  )
}

function sendFile(file: ScrapydFile, name: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { sizeBytes } = file
  reply.headers({ 'accept-ranges': 'bytes', 'content-security-policy': FILE_POLICY })
  if (file.modifiedAtMs !== null) {
    // HTTP dates have whole seconds. Round up like Twisted, or clients miss a later change in the same second.
    const modifiedAtMs = Math.ceil(file.modifiedAtMs / 1000) * 1000
    reply.header('last-modified', new Date(modifiedAtMs).toUTCString())
    const since = Date.parse(request.headers['if-modified-since'] ?? '')
    if (modifiedAtMs <= since) return reply.code(304).header('content-length', 0).send()
  }
  const { type, encoding } = contentTypeOf(name)
  // Scrapy writes UTF-8, but without a charset, browsers assume Latin-1.
  reply.header('content-type', type.startsWith('text/') ? `${type}; charset=utf-8` : type)
  if (encoding !== null) reply.header('content-encoding', encoding)
  if (request.method === 'HEAD') return reply.header('content-length', sizeBytes).send()

  const range = parseRange(request.headers.range, sizeBytes)
  if (range === 'unsatisfiable') {
    return reply.code(416).header('content-range', `bytes */${sizeBytes}`).header('content-length', 0).send()
  }
  const { start, stop } = range ?? { start: 0, stop: sizeBytes }
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${stop - 1}/${sizeBytes}`)
  reply.header('content-length', stop - start)
  return start === stop ? reply.send() : reply.send(file.read(start, stop))
}

/** Returns decoded segments without `.`, or null if they cannot name a file: `..`, encoded slash, NUL, bad encoding. */
function decodeSegments(path: string): string[] | null {
  try {
    const segments = path.split('/').map((segment) => decodeURIComponent(segment))
    const isNone = segments.some((segment) => /[/\\\0]/.test(segment) || segment === '..')
    return isNone ? null : segments.filter((segment) => segment !== '.')
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}

function decodeLeniently(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'))
}

/**
 * Parses a single byte range (RFC 9110, section 14), where `stop` is exclusive. Returns null to send the whole file,
 * also for several ranges or other units, as the RFC allows.
 */
export function parseRange(
  header: string | undefined,
  sizeBytes: number
): { start: number; stop: number } | 'unsatisfiable' | null {
  const match =
    header === undefined ? null : /^\s*bytes\s*=[\s,]*(\d{0,15})-(\d{0,15})[\s,]*$/.exec(header.slice(0, 200))
  if (match === null) return null
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return null
  if (first === '') {
    const count = Math.min(Number(last), sizeBytes)
    return count === 0 ? 'unsatisfiable' : { start: sizeBytes - count, stop: sizeBytes }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= sizeBytes) return 'unsatisfiable'
  return { start, stop: last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes) }
}

import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FleetAsScrapyd } from '../../engine/commands/fleet-as-scrapyd.ts'
import { escapeHtml } from '../html.ts'
import { parseRange } from './range.ts'

const CHUNK_BYTES = 1024 * 1024

/** `/logs/…` as Scrapyd's static files: listings of projects, spiders and runs, and the logs with ranges (scrapyd-protocol.md, 7.1). */
export async function answerLogs(
  fleet: FleetAsScrapyd,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  // Not Fastify's decoded wildcard: there an encoded slash could no longer be told from a real one.
  const path = (request.raw.url ?? '').split('?', 1)[0]?.replace(/\/+/g, '/') ?? ''
  const segments = decodeSegments(path.slice('/logs/'.length))
  if (segments === null) return notFound(reply)
  const isDirectory = segments.at(-1) === ''
  const [project = null, spider = null, file = null, ...deeper] = isDirectory ? segments.slice(0, -1) : segments
  if (deeper.length > 0 || (file !== null && isDirectory)) return notFound(reply)
  if (file !== null) return answerLog(fleet, project as string, spider as string, file, request, reply)

  const entries = await fleet.listLogs(project, spider)
  if (entries.length === 0 && project !== null) return notFound(reply)
  if (!isDirectory) return reply.redirect(`${path}/`)
  return reply.type('text/html; charset=utf-8').send(directoryPage(decodeURIComponent(path), entries, spider !== null))
}

async function answerLog(
  fleet: FleetAsScrapyd,
  project: string,
  spider: string,
  file: string,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  if (!file.endsWith('.log')) return notFound(reply)
  const run = { project, spider, jobid: file.slice(0, -'.log'.length) }
  const end = await fleet.readLog(run, { offset: 0, limitBytes: 1 })
  if (end === null) return notFound(reply)
  const sizeBytes = end.sizeBytes

  const range = parseRange(request.headers.range, sizeBytes)
  reply.type('text/plain').header('accept-ranges', 'bytes').header('cache-control', 'no-store')
  if (range === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${sizeBytes}`).send()
  const { start, stop } = range ?? { start: 0, stop: sizeBytes }
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${stop - 1}/${sizeBytes}`)
  reply.header('content-length', stop - start)
  if (request.method === 'HEAD' || start === stop) return reply.send()
  return reply.send(Readable.from(readPieces(fleet, run, start, stop), { objectMode: false }))
}

/** The bytes from `start` up to, not including, `stop`; a log may have grown since, but that much was promised. */
async function* readPieces(
  fleet: FleetAsScrapyd,
  run: { project: string; spider: string; jobid: string },
  start: number,
  stop: number
): AsyncGenerator<Uint8Array> {
  for (let offset = start; offset < stop; ) {
    const piece = await fleet.readLog(run, { offset, limitBytes: Math.min(CHUNK_BYTES, stop - offset) })
    // Ending early would leave the client with a log that looks whole: an error breaks the connection instead.
    if (piece === null || piece.bytes.length === 0)
      throw new Error(`The log of ${run.jobid} became shorter while it was read.`)
    yield piece.bytes.subarray(0, stop - offset)
    offset += piece.bytes.length
  }
}

/** Segments of the path, decoded one by one; null for what never names a log: `..`, an encoded slash, NUL, bad encoding. */
function decodeSegments(path: string): string[] | null {
  try {
    const segments = path.split('/').map((segment) => decodeURIComponent(segment))
    return segments.some((segment) => /[/\\\0]/.test(segment) || segment === '.' || segment === '..') ? null : segments
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.callNotFound() as unknown as FastifyReply
}

/** In the layout that ScrapydWeb reads (scrapyd-protocol.md, 7.1 and 7.4): one cell a line, no attributes on cells. */
function directoryPage(path: string, entries: { name: string; sizeBytes: number | null }[], areFiles: boolean): string {
  const title = escapeHtml(`Directory listing for ${path}`)
  const rows = entries.map(({ name, sizeBytes }, index) => {
    const shown = areFiles ? `${name}.log` : `${name}/`
    const href = areFiles ? `${encodeURIComponent(name)}.log` : `${encodeURIComponent(name)}/`
    return `        <tr class="${index % 2 === 0 ? 'odd' : 'even'}">
            <td><a href="${href}">${escapeHtml(shown)}</a></td>
            <td>${areFiles ? formatSize(sizeBytes) : ''}</td>
            <td></td>
            <td>${areFiles ? '[text/plain]' : '[Directory]'}</td>
            <td></td>
        </tr>`
  })
  return `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body>
<h1>${title}</h1>
<table>
    <thead>
        <tr>
            <th>Filename</th>
            <th>Size</th>
            <th>Last modified</th>
            <th>Content type</th>
            <th>Content encoding</th>
        </tr>
    </thead>
    <tbody>
${rows.join('\n')}
    </tbody>
</table>
</body>
</html>
`
}

/** `566B`, `4K`, `3M`, rounded down, as Twisted does. */
function formatSize(sizeBytes: number | null): string {
  if (sizeBytes === null) return ''
  if (sizeBytes < 1024) return `${sizeBytes}B`
  if (sizeBytes < 1024 ** 2) return `${Math.floor(sizeBytes / 1024)}K`
  if (sizeBytes < 1024 ** 3) return `${Math.floor(sizeBytes / 1024 ** 2)}M`
  return `${Math.floor(sizeBytes / 1024 ** 3)}G`
}

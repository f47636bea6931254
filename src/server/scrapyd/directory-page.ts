import type { ScrapydDirectory } from '../../engine/api/scrapyd-commands/scrapyd-shapes.ts'
import { formatLocalTime } from './describe-jobs.ts'
import { escapeHtml } from '../html.ts'

/** Content types by extension, as in Twisted on Debian. All others are text/plain, Scrapyd's default. */
const TYPES: Record<string, string> = {
  '.7z': 'application/x-7z-compressed',
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.py': 'text/x-python',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.webp': 'image/webp',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.xml': 'application/xml',
  '.zip': 'application/zip'
}
const ENCODINGS: Record<string, string> = { '.gz': 'gzip', '.bz2': 'bzip2' }

/** `app.log.gz` is text/plain with the encoding gzip, so clients decompress it. */
export function contentTypeOf(name: string): { type: string; encoding: string | null } {
  let extension = extensionOf(name)
  const encoding = ENCODINGS[extension] ?? null
  if (encoding !== null) extension = extensionOf(name.slice(0, -extension.length))
  return { type: TYPES[extension] ?? 'text/plain', encoding }
}

/** Like Python's splitext: a name whose only dot comes first has no extension. */
function extensionOf(name: string): string {
  return /[^.](\.[^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? ''
}

/**
 * Identical to Scrapyd's listing byte for byte, because ScrapydWeb parses its rows (scrapyd-protocol.md, 7.1 and 7.4).
 */
export function directoryPage(path: string, entries: ScrapydDirectory['entries']): string {
  const title = escapeHtml(`Directory listing for ${path}`)
  const sorted = [...entries.filter((entry) => entry.isDirectory), ...entries.filter((entry) => !entry.isDirectory)]
  const rows = sorted.map(({ name, isDirectory, sizeBytes, modifiedAtMs }, index) => {
    const slash = isDirectory ? '/' : ''
    const { type, encoding } = contentTypeOf(name)
    return `<tr class="${index % 2 === 0 ? 'odd' : 'even'}">
    <td><a href="${escapeHtml(quote(name))}${slash}">${escapeHtml(name)}${slash}</a></td>
    <td>${formatSize(sizeBytes)}</td>
    <td>${formatLocalTime(modifiedAtMs)?.slice(0, 16) ?? ''}</td>
    <td>[${isDirectory ? 'Directory' : type}]</td>
    <td>${isDirectory || encoding === null ? '' : `[${encoding}]`}</td>
</tr>
`
  })
  return `<html>
<head>
<title>${title}</title>
<style>
.even-dir { background-color: #efe0ef }
.even { background-color: #eee }
.odd-dir {background-color: #f0d0ef }
.odd { background-color: #dedede }
.icon { text-align: center }
.listing {
    margin-left: auto;
    margin-right: auto;
    width: 50%;
    padding: 0.1em;
    }

body { border: 0; padding: 0; margin: 0; background-color: #efefef; }
h1 {padding: 0.1em; background-color: #777; color: white; border-bottom: thin white dashed;}

</style>
</head>

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
${rows.join('')}
    </tbody>
</table>

</body>
</html>
`
}

/** Like Python's `quote`, which escapes more characters than encodeURIComponent. */
function quote(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  )
}

/** Formats a size as `566B`, `4K` or `3M`, rounded down like Twisted. */
function formatSize(sizeBytes: number | null): string {
  if (sizeBytes === null) return ''
  if (sizeBytes < 1024) return `${sizeBytes}B`
  if (sizeBytes < 1024 ** 2) return `${Math.floor(sizeBytes / 1024)}K`
  if (sizeBytes < 1024 ** 3) return `${Math.floor(sizeBytes / 1024 ** 2)}M`
  return `${Math.floor(sizeBytes / 1024 ** 3)}G`
}

/** Types by extension as Twisted on Debian has them; all others are text/plain, Scrapyd's default. */
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

/** `app.log.gz` is text/plain with the encoding gzip, so that the client unpacks it. */
export function contentTypeOf(name: string): { type: string; encoding: string | null } {
  let extension = extensionOf(name)
  const encoding = ENCODINGS[extension] ?? null
  if (encoding !== null) extension = extensionOf(name.slice(0, -extension.length))
  return { type: TYPES[extension] ?? 'text/plain', encoding }
}

/** Like Python's splitext: a name whose only dot is the first character has no extension. */
function extensionOf(name: string): string {
  return /[^.](\.[^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? ''
}

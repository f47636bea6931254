import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { protocol } from 'electron'
import { APP_SCHEME, findAppFile } from './app-url.ts'

// Allows inline styles, which Mantine and xterm insert, and blob workers, which zip large files. The page has no
// network access.
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm'
}

/** Call this once, before `ready`. Makes the scheme a secure standard origin and lets V8 cache the compiled scripts. */
export function registerAppScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: APP_SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true } }
  ])
}

export function serveApp(rendererDirectory: string): void {
  protocol.handle(APP_SCHEME, (request) => answer(rendererDirectory, request))
}

async function answer(rendererDirectory: string, request: Request): Promise<Response> {
  if (request.method !== 'GET') return new Response(null, { status: 405 })
  const file = findAppFile(rendererDirectory, request.url)
  if (file === null) return new Response(null, { status: 404 })
  try {
    return new Response(new Uint8Array(await readFile(file)), {
      headers: {
        'content-type': CONTENT_TYPES[extname(file)] ?? 'application/octet-stream',
        'content-security-policy': CONTENT_SECURITY_POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin'
      }
    })
  } catch (error) {
    // A missing file gets a 404. Other errors, such as a broken disk, are not hidden.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Response(null, { status: 404 })
    throw error
  }
}

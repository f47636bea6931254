import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { OpenAPI } from '@orpc/contract'
import type { FastifyInstance } from 'fastify'
import { FOR_READERS } from '../auth/route-permissions.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { escapeHtml } from '../html.ts'
import { sendHtml } from '../page.ts'

/** The only files of Swagger UI, as packaged in @fastify/swagger-ui, that are served. */
const FILES: Record<string, string> = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8'
}

/** The page's script. It is served as a file, because the page can only run scripts from our own files. */
const START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#operations',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  syntaxHighlight: { activated: false }
})
`

const STYLE = `
body { margin: 0; background: #fafafa; color: #18202b; font: 15px/1.55 Inter, system-ui, sans-serif }
nav { max-width: 1100px; margin: 0 auto; padding: 16px 20px; font-size: 13px }
nav a { color: #4656e0 }
.dark-mode { color-scheme: dark }
.dark-mode body { background: #0e1115; color: #dfe4ec }
.dark-mode nav a { color: #9aa6ff }
.swagger-ui .wrapper { max-width: 1100px }
.swagger-ui .info { margin: 16px 0 }
noscript { display: block; padding: 20px }
`

/** Serves `/api`. Loads nothing from other hosts, so that the page works offline. */
export async function apiPageEndpoint(
  app: FastifyInstance,
  options: { describe: () => Promise<OpenAPI.Document> }
): Promise<void> {
  const { describe } = options
  app.get('/api/openapi.json', FOR_READERS, async (_request, reply) =>
    reply.header('cache-control', 'no-cache').send(await describe())
  )
  app.get('/api/files/start.js', FOR_READERS, (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(START)
  )
  app.get('/api/files/style.css', FOR_READERS, (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
  app.get('/api/files/:name', FOR_READERS, async (request, reply) => {
    const { name } = request.params as { name: string }
    const type = Object.hasOwn(FILES, name) ? FILES[name] : undefined
    if (type === undefined) throw new ScrapdeckError('NOT_FOUND', sentence('server.no_file', { name }))
    return reply
      .type(type)
      .header('cache-control', 'private, max-age=86400')
      .send(await readFile(join(findFiles(), name)))
  })
  app.get('/api', FOR_READERS, async (_request, reply) =>
    sendHtml(reply, {
      title: 'Scrapdeck API',
      styles: ['/api/files/swagger-ui.css', '/api/files/style.css'],
      scripts: ['/api/files/swagger-ui-bundle.js', '/api/files/start.js'],
      body: `<nav><a href="/docs/api">Guide</a> · <a href="/api/openapi.json">OpenAPI 3.1</a> · <a href="/docs">Documentation</a> · <a href="/ui/">Scrapdeck</a></nav>
<main id="operations"></main>
<noscript>
<table>
${operationRows(await describe())}
</table>
</noscript>`,
      policy: "script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'"
    })
  )
}

/** Finds Swagger UI only on request, because the package is installed next to our bundle and is not part of it. */
function findFiles(): string {
  try {
    const require = createRequire(import.meta.url)
    return join(dirname(require.resolve('@fastify/swagger-ui/package.json')), 'static')
  } catch (cause) {
    throw new ScrapdeckError('NOT_FOUND', sentence('server.swagger_ui_not_installed'), {
      cause
    })
  }
}

function operationRows(document: OpenAPI.Document): string {
  const rows = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods ?? {}).map(([method, operation]) => {
      const { operationId = '', servers = document.servers! } = operation as OpenAPI.OperationObject
      return `<tr><td>${method.toUpperCase()}</td><td>${servers[0]!.url}${escapeHtml(path)}</td><td>${escapeHtml(operationId)}</td></tr>`
    })
  )
  return rows.join('\n')
}

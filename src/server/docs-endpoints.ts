import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { FOR_READERS } from './auth/route-permissions.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'
import { escapeHtml } from './html.ts'
import { PAGE_STYLE, sendHtml } from './page.ts'

const PAGE_NAME = /^[a-z0-9-]{1,100}$/
const IMAGE_NAME = /^[a-z0-9-]{1,100}\.png$/

/** Loaded with the first page, because few users open the documentation. */
const markdown = () => import('./markdown.ts')

/** Serves the docs folder as pages below `/docs`. Shows raw HTML as text. Links lead to pages here or on the web. */
export async function docsEndpoints(app: FastifyInstance, options: { docsDirectory: string }): Promise<void> {
  const { docsDirectory } = options
  app.get('/docs/style.css', FOR_READERS, (_request, reply) => reply.type('text/css; charset=utf-8').send(PAGE_STYLE))
  app.get('/docs', FOR_READERS, async (_request, reply) => {
    const { headingsOf } = await markdown()
    const names = await listPages(docsDirectory)
    const items = await Promise.all(
      names.map(async (name) => {
        const headings = headingsOf(await readPage(docsDirectory, name))
        const title = headings.find(({ depth }) => depth === 1)?.text ?? name
        const parts = headings.filter(({ depth }) => depth === 2).map(({ text }) => text)
        return `<li><a href="/docs/${name}">${escapeHtml(title)}</a><p>${escapeHtml(parts.join(' · '))}</p></li>`
      })
    )
    const api = '<li><a href="/api">The API, operation by operation</a><p>Read and try it in the browser</p></li>'
    return send(
      reply,
      'Documentation',
      `<h1>Documentation</h1>\n<ul class="pages">\n${items.join('\n')}\n${api}\n</ul>`
    )
  })
  app.get('/docs/images/:name', FOR_READERS, async (request, reply) => {
    const { name } = request.params as { name: string }
    if (!IMAGE_NAME.test(name)) throw notFound(name)
    const image = await readFile(join(docsDirectory, 'images', name)).catch((cause: unknown) => {
      throw notFound(name, cause)
    })
    return reply.type('image/png').header('cache-control', 'private, max-age=3600').send(image)
  })
  app.get('/docs/:name', FOR_READERS, async (request, reply) => {
    const name = (request.params as { name: string }).name.replace(/\.md$/, '')
    const text = await readPage(docsDirectory, name)
    const title = /^# (.+)$/m.exec(text)?.[1] ?? name
    const { renderMarkdown } = await markdown()
    return send(reply, title, renderMarkdown(text))
  })
}

async function listPages(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((cause: unknown) => {
    throw new ScrapdeckError('NOT_FOUND', sentence('server.docs_not_installed'), {
      cause
    })
  })
  return names.flatMap((name) => (name.endsWith('.md') ? [name.slice(0, -3)] : [])).sort()
}

async function readPage(directory: string, name: string): Promise<string> {
  if (!PAGE_NAME.test(name)) throw notFound(name)
  return readFile(join(directory, `${name}.md`), 'utf8').catch((cause: unknown) => {
    throw notFound(name, cause)
  })
}

function notFound(name: string, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('NOT_FOUND', sentence('server.no_page_of_docs', { name }), { cause })
}

function send(reply: FastifyReply, title: string, content: string): FastifyReply {
  const nav = '<nav><a href="/docs">Documentation</a> · <a href="/api">API</a> · <a href="/ui/">Scrapdeck</a></nav>'
  return sendHtml(reply, {
    title: `${title} – Scrapdeck`,
    styles: ['/docs/style.css'],
    body: `${nav}\n<main>\n${content}\n</main>`,
    policy: "style-src 'self'; img-src 'self' data:"
  })
}

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Marked } from 'marked'
import { ScrapdeckError } from '../shared/errors.ts'
import { escapeHtml } from './html.ts'
import { PAGE_STYLE, sendHtml } from './page.ts'

const PAGE_NAME = /^[a-z0-9-]{1,100}$/
const IMAGE_NAME = /^[a-z0-9-]{1,100}\.png$/

/** `/docs`: the docs folder, rendered. Raw HTML is shown as text; links go to pages here or to the web. */
export async function docsDoor(app: FastifyInstance, options: { docsDirectory: string }): Promise<void> {
  const { docsDirectory } = options
  app.get('/docs/style.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(PAGE_STYLE))
  app.get('/docs', async (_request, reply) => {
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
  app.get('/docs/images/:name', async (request, reply) => {
    const { name } = request.params as { name: string }
    if (!IMAGE_NAME.test(name)) throw notFound(name)
    const image = await readFile(join(docsDirectory, 'images', name)).catch((cause: unknown) => {
      throw notFound(name, cause)
    })
    return reply.type('image/png').header('cache-control', 'private, max-age=3600').send(image)
  })
  app.get('/docs/:name', async (request, reply) => {
    const name = (request.params as { name: string }).name.replace(/\.md$/, '')
    const text = await readPage(docsDirectory, name)
    const title = /^# (.+)$/m.exec(text)?.[1] ?? name
    return send(reply, title, renderMarkdown(text))
  })
}

async function listPages(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((cause: unknown) => {
    throw new ScrapdeckError('NOT_FOUND', 'The documentation is not installed here; it is in docs/ of the source.', {
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
  return new ScrapdeckError('NOT_FOUND', `The documentation has no page "${name}"; /docs lists them.`, { cause })
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

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${escapeHtml(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens)
      const target = linkTo(href)
      return target === null ? text : `<a href="${escapeHtml(target)}">${text}</a>`
    },
    image({ href, text }) {
      return /^images\/[a-z0-9-]+\.png$/.test(href)
        ? `<img src="/docs/${escapeHtml(href)}" alt="${escapeHtml(text)}">`
        : escapeHtml(text)
    },
    table(token) {
      const row = (cells: typeof token.header, tag: string) =>
        `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>\n`
      const rows = token.rows.map((cells) => row(cells, 'td')).join('')
      return `<div class="wide"><table><thead>${row(token.header, 'th')}</thead><tbody>${rows}</tbody></table></div>\n`
    }
  }
})

export function renderMarkdown(text: string): string {
  return marked.parse(text, { async: false })
}

/** Headings without formatting, for the title and the list of chapters. */
function headingsOf(text: string): { depth: number; text: string }[] {
  return marked
    .lexer(text)
    .flatMap((token) =>
      token.type === 'heading' ? [{ depth: token.depth, text: token.text.replaceAll('`', '') }] : []
    )
}

/** null: the target is outside the documentation and not served here. */
function linkTo(href: string): string | null {
  const page = /^([a-z0-9-]+)\.md(#[\w-]*)?$/.exec(href)
  if (page !== null) return `/docs/${page[1]}${page[2] ?? ''}`
  return /^(https?:\/\/|#)/.test(href) ? href : null
}

/** The same anchors that GitHub and others generate, so that links in the files work here too. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}

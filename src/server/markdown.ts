import { Marked } from 'marked'
import { escapeHtml } from './html.ts'

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

export function headingsOf(text: string): { depth: number; text: string }[] {
  return marked
    .lexer(text)
    .flatMap((token) =>
      token.type === 'heading' ? [{ depth: token.depth, text: token.text.replaceAll('`', '') }] : []
    )
}

/** Returns null if the target is outside the documentation and not served here. */
function linkTo(href: string): string | null {
  const page = /^([a-z0-9-]+)\.md(#[\w-]*)?$/.exec(href)
  if (page !== null) return `/docs/${page[1]}${page[2] ?? ''}`
  return /^(https?:\/\/|#)/.test(href) ? href : null
}

/** Generates the same anchors as GitHub, so that links in the files also work here. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}

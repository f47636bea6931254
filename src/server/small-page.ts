import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { escapeHtml } from './html.ts'

const STYLE = `
:root { color-scheme: light dark; --bg: light-dark(#f4f6f8, #0e1115); --panel: light-dark(#ffffff, #14181e);
  --line: light-dark(#d2d9e2, #2d3642); --text: light-dark(#18202b, #dfe4ec); --dim: light-dark(#566273, #97a2b2);
  --accent: light-dark(#4656e0, #7c8cff); --on-accent: light-dark(#ffffff, #0c1020); --bad: light-dark(#cf3b33, #ef5f57) }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--bg); color: var(--text);
  font: 13px/1.45 Inter, system-ui, sans-serif }
main { width: 340px; max-width: calc(100vw - 32px); padding: 24px; background: var(--panel); border: 1px solid var(--line);
  border-radius: 9px; overflow-wrap: anywhere }
h1 + .button { margin-top: 16px }
h1 + form { margin-top: 14px }
h1 { margin: 0 0 6px; font-size: 17px; font-weight: 650; letter-spacing: -.015em }
p { margin: 0 0 16px; color: var(--dim) }
p:last-child { margin-bottom: 0 }
.problem { color: var(--bad) }
.problem:empty { display: none }
.after { margin: 16px 0 0 }
.qr { width: 180px; margin: 0 auto 16px; line-height: 0 }
pre { margin: 0 0 16px; font: 13px/1.7 ui-monospace, monospace; text-align: center }
a { color: var(--accent) }
.or { margin: 16px 0 12px; text-align: center }
label { display: block; margin: 0 0 12px; font-weight: 550 }
input { display: block; width: 100%; margin-top: 4px; padding: 6px 9px; font: inherit; color: inherit; background: var(--bg);
  border: 1px solid var(--line); border-radius: 6px }
button, .button { display: block; width: 100%; height: 32px; font: inherit; font-weight: 550; line-height: 32px;
  text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 0;
  border-radius: 6px; cursor: pointer }
button { line-height: normal }
a.button { color: var(--on-accent) }
.second { color: var(--text); background: var(--bg); border: 1px solid var(--line) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
code { font-family: ui-monospace, monospace; font-size: 12px }
`

export const SMALL_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** A self-contained page for people without access: the login page, or an error. `body` must be safe HTML. */
export function smallPage({ title, body }: { title: string; body: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
}

/**
 * Sends a page that says what happened and what to do. `link` is a path on this server for the button. Escapes all
 * strings.
 */
export function sendNotice(
  reply: FastifyReply,
  notice: { title: string; text: string; link?: { href: string; label: string } | undefined }
): FastifyReply {
  const { title, text, link } = notice
  const button =
    link === undefined ? '' : `\n<a class="button" href="${escapeHtml(link.href)}">${escapeHtml(link.label)}</a>`
  return reply
    .header('content-security-policy', SMALL_PAGE_POLICY)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(smallPage({ title, body: `<h1>${escapeHtml(title)}</h1>\n<p>${escapeHtml(text)}</p>${button}` }))
}

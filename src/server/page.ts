import type { FastifyReply } from 'fastify'
import { escapeHtml } from './html.ts'

export const PAGE_STYLE = `
:root { color-scheme: light dark; --bg: light-dark(#f4f6f8, #0e1115); --panel: light-dark(#ffffff, #14181e);
  --line: light-dark(#d2d9e2, #2d3642); --text: light-dark(#18202b, #dfe4ec); --dim: light-dark(#566273, #97a2b2);
  --accent: light-dark(#4656e0, #9aa6ff) }
* { box-sizing: border-box }
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.55 Inter, system-ui, sans-serif }
nav, main { max-width: 940px; margin: 0 auto; padding: 16px 20px }
nav { color: var(--dim); font-size: 13px }
main { padding-bottom: 64px }
a { color: var(--accent) }
h1 { margin: 8px 0 12px; font-size: 26px; letter-spacing: -.015em }
h2 { margin: 32px 0 8px; font-size: 19px }
h3 { margin: 24px 0 8px; font-size: 16px }
code, pre { font-family: ui-monospace, monospace; font-size: 13px }
code { padding: 1px 4px; background: var(--panel); border: 1px solid var(--line); border-radius: 4px }
pre { padding: 12px; overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 6px }
pre code { padding: 0; border: 0 }
.pages { padding: 0; list-style: none }
.pages p { margin: 0 0 12px; color: var(--dim); font-size: 13px }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 14px }
th, td { padding: 6px 10px; text-align: left; vertical-align: top; border: 1px solid var(--line) }
th { background: var(--panel) }
img { max-width: 100%; border: 1px solid var(--line); border-radius: 6px }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`

/** Sends one of our own pages. `policy` says what the page can load. Escapes only the title. */
export function sendHtml(
  reply: FastifyReply,
  page: { title: string; styles: string[]; scripts?: string[]; body: string; policy: string }
): FastifyReply {
  const styles = page.styles.map((href) => `<link rel="stylesheet" href="${href}">`)
  const scripts = (page.scripts ?? []).map((source) => `<script src="${source}" defer></script>`)
  return reply
    .header(
      'content-security-policy',
      `default-src 'none'; ${page.policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
    )
    .header('cache-control', 'no-cache')
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(page.title)}</title>
${[...styles, ...scripts].join('\n')}
</head>
<body>
${page.body}
</body>
</html>
`)
}

import type { AlertFigureHistory } from '../../../../shared/contract/index.ts'
import type { Mood } from '../../../../shared/texts/en-mails.ts'
import { utcMinute } from '../../../../shared/texts/parts.ts'

/**
 * Emails use tables and inline styles, because Outlook and Gmail support little else. Classes serve only clients in
 * dark mode, where `!important` overrides inline styles. caniemail.com lists what works where.
 */
const FONT = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
const MONO = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace"
const WIDTH = 600

/** Colors that are dark enough for white text. */
const STRONG: Record<Mood, string> = {
  critical: '#c92a2a',
  warning: '#b35300',
  info: '#1864ab',
  resolved: '#2b7a3b',
  test: '#495057'
}
const SOFT: Record<Mood, string> = {
  critical: '#e5484d',
  warning: '#f08c00',
  info: '#339af0',
  resolved: '#40a35a',
  test: '#868e96'
}
const CHART_HEIGHT = 48
const BAR_MIN = 3

const DARK = `
:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){
.page{background:#141517!important}
.card{background:#1f2123!important;border-color:#34373c!important}
.text{color:#eceef0!important}
.quiet{color:#a9b0b7!important}
.line{border-color:#34373c!important}
.log{background:#151618!important;color:#cfd4d9!important;border-color:#34373c!important}
.link{color:#74b6f7!important}
.past{background:#5b626a!important}
}
@media (max-width:480px){.inner{padding:20px 16px!important}}`

export const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')

const block = (content: string, style: string): string =>
  `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td style="${style}">${content}</td></tr></table>`

/** The whole page. `preview` is hidden on the page, for mail programs that show it in their lists. */
export function card({
  subject,
  preview,
  mood,
  parts
}: {
  subject: string
  preview: string
  mood: Mood
  parts: readonly string[]
}): string {
  const inner = `${parts.join('\n')}
${block('Sent by Scrapdeck. Its alert rules decide who gets this.', `padding-top:24px;${FONT};font-size:12px;line-height:18px;color:#6b7278`).replace('<td ', '<td class="quiet" ')}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${DARK}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f1f3f5">
<div style="display:none;max-height:0;overflow:hidden;opacity:0">${escapeHtml(preview)}</div>
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f1f3f5">
<tr><td align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="${WIDTH}" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:${WIDTH}px;background:#ffffff;border:1px solid #dee2e6;border-radius:8px;border-collapse:separate;overflow:hidden">
<tr><td height="4" style="height:4px;line-height:4px;font-size:0;background:${SOFT[mood]}">&nbsp;</td></tr>
<tr><td class="inner" align="left" style="padding:24px 32px 28px">
${inner}
</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`
}

export const pill = (word: string, mood: Mood): string =>
  block(
    `<span style="display:inline-block;padding:2px 10px;border-radius:10px;background:${STRONG[mood]};color:#ffffff;${FONT};font-size:12px;line-height:18px;font-weight:600">${escapeHtml(word)}</span>`,
    'padding-bottom:10px'
  )

export const heading = (text: string): string =>
  `<h1 class="text" style="margin:0 0 12px;${FONT};font-size:20px;line-height:28px;font-weight:600;color:#212529;word-break:break-word">${escapeHtml(text)}</h1>`

export const paragraph = (text: string): string =>
  `<p class="quiet" style="margin:16px 0 6px;${FONT};font-size:13px;line-height:20px;font-weight:600;color:#5c636a">${escapeHtml(text)}</p>`

export const note = (text: string): string =>
  `<p class="quiet" style="margin:0 0 6px 20px;${FONT};font-size:13px;line-height:20px;color:#5c636a">${escapeHtml(text)}</p>`

export function facts(pairs: readonly (readonly [name: string, value: string])[]): string {
  const rows = pairs.map(
    ([name, value]) =>
      `<tr><td class="quiet" valign="top" style="padding:0 16px 2px 0;white-space:nowrap;${FONT};font-size:13px;line-height:20px;color:#5c636a">${escapeHtml(name)}</td><td class="text" style="padding-bottom:2px;${FONT};font-size:13px;line-height:20px;color:#212529;word-break:break-word">${escapeHtml(value)}</td></tr>`
  )
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin-bottom:12px">${rows.join('')}</table>`
}

/** `name` and `text` are already escaped. */
export function listing(of: {
  mood: Mood
  name: string
  text: string
  times: string
  link: { url: string; text: string } | null
}): string {
  const { mood, name, text, times, link } = of
  const details =
    text === ''
      ? ''
      : `<div class="text" style="${FONT};font-size:14px;line-height:21px;color:#343a40;word-break:break-word">${text}</div>\n`
  return `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="line" valign="top" width="20" style="width:20px;padding:13px 0 12px;border-top:1px solid #e9ecef"><div style="width:10px;height:10px;margin-top:5px;border-radius:5px;background:${SOFT[mood]};font-size:0;line-height:0">&nbsp;</div></td>
<td class="line" style="padding:10px 0 12px;border-top:1px solid #e9ecef">
<div class="text" style="${FONT};font-size:15px;line-height:22px;font-weight:600;color:#212529;word-break:break-word">${name}</div>
${details}<div class="quiet" style="${FONT};font-size:12px;line-height:19px;color:#6b7278">${escapeHtml(times)}${linked(link)}</div>
</td></tr></table>`
}

/** Draws bars as table cells: clients show neither SVG nor data URLs, and Outlook applies heights only to cells. */
export function chart({ bars, fromMs, untilMs, caption }: Omit<AlertFigureHistory, 'title'>, mood: Mood): string {
  const most = Math.max(...bars.map(({ value }) => value), 0)
  const table = '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"'
  const cells = bars.map(({ value, tone }) => {
    const height = most === 0 ? BAR_MIN : Math.max(BAR_MIN, Math.round((Math.max(0, value) / most) * CHART_HEIGHT))
    const color = colorOf(tone, mood)
    const style = `height:${height}px;background:${color};border-radius:1px;font-size:0;line-height:0`
    const bar = `<td${tone === 'past' ? ' class="past"' : ''} height="${height}" bgcolor="${color}" style="${style}">&nbsp;</td>`
    return `<td valign="bottom" height="${CHART_HEIGHT}" style="padding:0 1px">${table}><tr>${bar}</tr></table></td>`
  })
  const quiet = `${FONT};font-size:12px;line-height:18px;color:#6b7278`
  const end = (text: string, align: string) =>
    `<td class="quiet" align="${align}" style="${quiet}">${escapeHtml(text)}</td>`
  // A screen reader reads the caption instead.
  return block(
    `${table} aria-hidden="true" style="table-layout:fixed"><tr>${cells.join('')}</tr></table>
${table} class="line" style="border-top:1px solid #e9ecef"><tr>${end(utcMinute(fromMs), 'left')}${end(utcMinute(untilMs), 'right')}</tr></table>
<div class="text" style="padding-top:4px;${FONT};font-size:13px;line-height:20px;color:#343a40">${escapeHtml(caption)}</div>`,
    'padding:6px 0 4px'
  )
}

function colorOf(tone: AlertFigureHistory['bars'][number]['tone'], mood: Mood): string {
  if (tone === 'past') return '#adb5bd'
  return SOFT[tone === 'now' ? mood : tone === 'failed' ? 'critical' : 'resolved']
}

export const logLines = (lines: readonly string[]): string =>
  `<div class="log" style="padding:10px 12px;background:#f8f9fa;border:1px solid #e9ecef;border-radius:6px;${MONO};font-size:12px;line-height:18px;color:#343a40;white-space:pre-wrap;word-break:break-word">${lines.map(escapeHtml).join('<br>')}</div>`

export const sourceLine = (text: string, link: { url: string; text: string } | null): string =>
  `<div class="quiet" style="padding-top:6px;${FONT};font-size:12px;line-height:18px;color:#6b7278;word-break:break-word">${escapeHtml(text)}${linked(link)}</div>`

const linked = (link: { url: string; text: string } | null): string =>
  link === null ? '' : ` &middot; ${anchor(link.url, link.text)}`

export const button = (url: string, text: string): string =>
  `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin-top:22px"><tr><td style="border-radius:6px;background:#1864ab"><a href="${escapeHtml(url)}" style="display:inline-block;padding:9px 18px;${FONT};font-size:14px;line-height:20px;font-weight:600;color:#ffffff;text-decoration:none">${escapeHtml(text)}</a></td></tr></table>`

const anchor = (url: string, text: string): string =>
  `<a class="link" href="${escapeHtml(url)}" style="color:#1864ab">${escapeHtml(text)}</a>`

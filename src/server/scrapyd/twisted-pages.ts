import type { FastifyReply, FastifyRequest } from 'fastify'
import { escapeHtml } from '../html.ts'

/**
 * Identical to the pages of Twisted, Scrapyd's web server, because tools look for their words (scrapyd-protocol.md,
 * 7).
 */
function page(title: string, heading: string, text: string): string {
  return `
<html>
  <head><title>${title}</title></head>
  <body>
    <h1>${heading}</h1>
    <p>${text}</p>
  </body>
</html>
`
}

export const NO_SUCH_PAGE = page('404 - No Such Resource', 'No Such Resource', 'Sorry. No luck finding that resource.')
export const NO_SUCH_FILE = page('404 - No Such Resource', 'No Such Resource', 'File not found.')

/** Sends a page. The response to HEAD has the page's content length, but no body. */
export function sendPage(request: FastifyRequest, reply: FastifyReply, html: string, status = 200): FastifyReply {
  const body = Buffer.from(html)
  reply.code(status).header('content-type', 'text/html; charset=utf-8').header('content-length', body.length)
  return request.method === 'HEAD' ? reply.send() : reply.send(body)
}

/** Responds to a method that a page or file does not support. Returns null for GET and HEAD. */
export function refuseMethod(request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
  const { method } = request
  if (method === 'GET' || method === 'HEAD') return null
  if (method !== 'POST') {
    const text = `I don't know how to treat a ${method} request.`
    return sendPage(request, reply, page('501 - Huh?', 'Huh?', text), 501)
  }
  const path = escapeHtml(request.raw.url?.split('?', 1)[0] ?? '')
  const text = `Your browser approached me (at ${path}) with the method "POST".  I only allow the methods HEAD, GET here.`
  reply.header('allow', 'HEAD, GET')
  return sendPage(request, reply, page('405 - Method Not Allowed', 'Method Not Allowed', text), 405)
}

export function redirectTo(request: FastifyRequest, reply: FastifyReply, path: string): FastifyReply {
  const url = escapeHtml(path)
  const html = `
<html>
    <head>
        <meta http-equiv="refresh" content="0;URL=${url}">
    </head>
    <body bgcolor="#FFFFFF" text="#000000">
    <a href="${url}">click here</a>
    </body>
</html>
`
  return sendPage(request, reply.header('location', path), html, 302)
}

/** Scrapyd's home page (scrapyd-protocol.md, 7.1), for tools that look for it and for browsers without a session. */
export function homePage(projects: readonly string[], options: { base: string; hasItems: boolean }): string {
  const base = escapeHtml(options.base)
  const list = projects
    .toSorted()
    .map((name) => `        <li>${escapeHtml(name)}</li>`)
    .join('\n')
  const known =
    projects.length === 0
      ? '    <p>No Scrapy projects yet.</p>'
      : `    <p>Scrapy projects:</p>\n    <ul>\n${list}\n    </ul>`
  return `<!DOCTYPE html>
<html lang="en">
<head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Scrapyd</title>
    <style>
        body { font-family: system-ui, sans-serif; }
    </style>
</head>
<body>
    <h1>Scrapyd</h1>

    <ul>
        <li><a href="${base}/jobs">Jobs</a></li>
${options.hasItems ? `        <li><a href="${base}/items/">Items</a></li>` : ''}
        <li><a href="${base}/logs/">Logs</a></li>
        <li><a href="https://scrapyd.readthedocs.io/en/latest/">Documentation</a></li>
    </ul>

${known}

    <p>
        This web UI is for monitoring only. To upload projects and schedule crawls, use the API.
        For example, using <a href="https://curl.se/">curl</a>:
    </p>

    <p>
        <code>curl http://localhost:6800/schedule.json -d project=default -d spider=somespider</code>
    </p>

    <p>
        See the <a href="https://scrapyd.readthedocs.io/en/latest/">Scrapyd documentation</a> for details.
    </p>
</body>
</html>
`
}

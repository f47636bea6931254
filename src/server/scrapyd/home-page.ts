import { escapeHtml } from '../html.ts'

/** Scrapyd's home page (scrapyd-protocol.md, 7.1), for tools that look for it and for people without a session. */
export function homePage(projects: string[]): string {
  const list = projects
    .toSorted()
    .map((name) => `<li>${escapeHtml(name)}</li>`)
    .join('\n')
  const known =
    projects.length === 0 ? '<p>No Scrapy projects yet.</p>' : `<p>Scrapy projects:</p>\n<ul>\n${list}\n</ul>`
  return `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Scrapyd</title></head>
<body>
<h1>Scrapyd</h1>
${known}
<ul>
<li><a href="/logs/">Logs</a></li>
<li><a href="/ui/">Scrapdeck</a></li>
</ul>
<p>This is Scrapdeck: a fleet of Scrapyd nodes that answers as one Scrapyd.</p>
</body>
</html>
`
}

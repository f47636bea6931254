import { escapeHtml } from '../html.ts'

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

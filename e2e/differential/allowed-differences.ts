import type { Exchange, Seen } from './comparison.ts'

/** One way in which we differ from Scrapyd 1.6 on purpose. docs/scrapyd-compatibility.md explains each at its anchor. */
export interface AllowedDifference {
  id: string
  reason: string
  /** Of docs/scrapyd-compatibility.md. */
  anchor: string
  /** As precisely as it can be said: which requests, and of which answers. */
  applies(exchange: Exchange): boolean
  /** Their answer as it is expected of us. */
  expect(theirs: Seen, exchange: Exchange): Seen
}

export const ALLOWED_DIFFERENCES: readonly AllowedDifference[] = [
  {
    id: 'no-cors',
    reason: 'Scrapyd lets every web page read it; a page has no business with a fleet.',
    anchor: 'no-cors-headers',
    applies: ({ theirs }) => 'access-control-allow-origin' in theirs.headers,
    expect: (theirs) => ({ ...theirs, headers: withoutHeaders(theirs.headers, /^access-control-/) })
  },
  {
    id: 'projects-in-order',
    reason: 'Scrapyd lists projects as its directory happens to have them.',
    anchor: 'project-order',
    applies: ({ request }) => request.path === '/listprojects.json',
    expect: (theirs) => ({ ...theirs, body: theirs.body.replace(/(?<="projects": \[).*?(?=\])/, sortNames) })
  }
]

/** Names in JSON, as they stand there. */
function sortNames(list: string): string {
  const names = JSON.parse(`[${list}]`) as string[]
  return names.length === 0
    ? list
    : list
        .split(/, (?=")/)
        .sort()
        .join(', ')
}

function withoutHeaders(headers: Record<string, string>, pattern: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !pattern.test(name)))
}

import type { AllowedDifference, Exchange, Seen } from './exchange.ts'
import type { Answer, Request } from './http.ts'

export interface Surroundings {
  directory: string
  address: string
}

/** The headers that clients read. `date` and `server` do not matter. */
const COMPARED_HEADERS = [
  'accept-ranges',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'allow',
  'content-range',
  'content-type',
  'location',
  'www-authenticate'
]

export function see(request: Request, answer: Answer, surroundings: Surroundings): Seen {
  const headers: Record<string, string> = {}
  for (const name of COMPARED_HEADERS) {
    const value = answer.headers[name]
    if (value !== undefined) headers[name] = mask(value, surroundings)
  }
  if (answer.headers['last-modified'] !== undefined) headers['last-modified'] = '<time>'
  const length = answer.headers['content-length']
  // Masking changes the length of text, so this compares only whether each side's length is correct.
  if (request.method === 'HEAD') headers['content-length'] = length ?? '<none>'
  else if (length !== undefined) {
    headers['content-length'] =
      Number(length) === answer.body.length ? '<as the body>' : `<${length} for ${answer.body.length}>`
  }
  return { status: answer.status, headers, body: mask(asText(answer.body), surroundings) }
}

function asText(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : `<bytes ${bytes.toString('hex')}>`
}

/** Also masks the sizes of logs. Logs contain paths and durations, so a size in kB can differ between the sides. */
export function mask(text: string, { directory, address }: Surroundings): string {
  return text
    .replaceAll(directory, '<directory>')
    .replaceAll(new URL(address).host, '<host>')
    .replace(/\b[0-9a-f]{32}\b/g, '<id>')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?(?!\d)/g, '<time>')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d(?=<\/td>)/g, '<minute>')
    .replace(/(?<=\.log<\/a><\/td>\s*<td>)\d+[BK](?=<\/td>)/g, '<size>')
    .replace(/(?<=<td>)\d+(?=<\/td>\s*<td><time>)/g, '<pid>')
    .replace(/"pid": \d+/g, '"pid": <pid>')
    .replace(/(?<=<td>)\d:\d\d:\d\d(?=<\/td>)/g, '<runtime>')
}

export interface Verdict {
  /** null: the responses are the same, apart from allowed differences. */
  difference: string | null
  used: string[]
}

/**
 * Each allowed difference changes Scrapyd's response into the one expected from us. A remaining difference is a
 * finding, so no allowed difference can hide another one. An allowed difference that no longer occurs is a failure.
 */
export function judge(exchange: Exchange, allowed: readonly AllowedDifference[]): Verdict {
  const used: string[] = []
  let expected = exchange.theirs
  for (const difference of allowed) {
    if (sameSeen(expected, exchange.ours)) break
    const seenSoFar = { ...exchange, theirs: expected }
    if (!difference.applies(seenSoFar)) continue
    const changed = difference.expect(expected, seenSoFar)
    if (sameSeen(changed, expected)) continue
    expected = changed
    used.push(difference.id)
  }
  return { difference: firstDifference(expected, exchange.ours), used }
}

function sameSeen(one: Seen, other: Seen): boolean {
  return firstDifference(one, other) === null
}

export function firstDifference(theirs: Seen, ours: Seen): string | null {
  if (theirs.status !== ours.status) return `status: theirs ${theirs.status}, ours ${ours.status}`
  const names = new Set([...Object.keys(theirs.headers), ...Object.keys(ours.headers)])
  for (const name of [...names].sort()) {
    if (theirs.headers[name] !== ours.headers[name]) {
      return `header ${name}: theirs ${theirs.headers[name] ?? 'absent'}, ours ${ours.headers[name] ?? 'absent'}`
    }
  }
  if (theirs.body === ours.body) return null
  let at = 0
  while (theirs.body[at] === ours.body[at]) at++
  const from = Math.max(0, at - 40)
  const part = (text: string) => JSON.stringify(text.slice(from, at + 100))
  return `body, from character ${at}:\n      theirs …${part(theirs.body)}\n      ours   …${part(ours.body)}`
}

export type PythonJsonValue =
  | null
  | boolean
  | number
  | string
  | readonly PythonJsonValue[]
  | { readonly [key: string]: PythonJsonValue }

/**
 * JSON exactly as Python's `json.dumps` writes it by default, which is what Scrapyd answers: `, ` and `: ` between the
 * parts and everything outside ASCII as `\uXXXX` (scrapyd-protocol.md, 2.1). Numbers must be finite.
 */
export function toPythonJson(value: PythonJsonValue): string {
  if (typeof value === 'string') return escapeNonAscii(JSON.stringify(value))
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(toPythonJson).join(', ')}]`
  const pairs = Object.entries(value).map(
    ([key, item]) => `${escapeNonAscii(JSON.stringify(key))}: ${toPythonJson(item)}`
  )
  return `{${pairs.join(', ')}}`
}

function escapeNonAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

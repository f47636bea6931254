export type PythonJsonValue =
  | null
  | boolean
  | number
  | string
  | KeptText
  | readonly PythonJsonValue[]
  | { readonly [key: string]: PythonJsonValue }

/** JSON text that was encoded before. */
class KeptText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const kept = new WeakMap<object, KeptText>()

/** The value of `describe` as text, encoded once per `source`; the source must not change afterwards. */
export function keepText(source: object, describe: () => PythonJsonValue): PythonJsonValue {
  let text = kept.get(source)
  if (text === undefined) kept.set(source, (text = new KeptText(toPythonJson(describe()))))
  return text
}

/**
 * JSON exactly as Python's `json.dumps` writes it by default, and so Scrapyd: separators `, ` and `: `, non-ASCII as
 * `\uXXXX` (scrapyd-protocol.md, 2.1). Numbers must be finite.
 */
export function toPythonJson(value: PythonJsonValue): string {
  if (typeof value === 'string') return escapeNonAscii(JSON.stringify(value))
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (value instanceof KeptText) return value.text
  if (Array.isArray(value)) return `[${value.map(toPythonJson).join(', ')}]`
  const pairs = Object.entries(value).map(
    ([key, item]) => `${escapeNonAscii(JSON.stringify(key))}: ${toPythonJson(item)}`
  )
  return `{${pairs.join(', ')}}`
}

function escapeNonAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

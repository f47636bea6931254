// Messages travel as text over Chromium's debugging protocol. Both ends first make a structured clone, so functions
// and similar values are rejected as in Electron. The two functions below run here and, as source text, in the page.

export function encodeClone(value: unknown): unknown {
  if (value === undefined) return { kind: 'undefined' }
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return { kind: 'plain', value }
  if (typeof value === 'number' && Number.isFinite(value)) return { kind: 'plain', value }
  if (value instanceof ArrayBuffer || value instanceof Uint8Array) {
    const bytes = new Uint8Array(value as ArrayBuffer)
    let text = ''
    for (let start = 0; start < bytes.length; start += 32_768) {
      text += String.fromCharCode(...bytes.subarray(start, start + 32_768))
    }
    return { kind: value instanceof ArrayBuffer ? 'buffer' : 'bytes', value: btoa(text) }
  }
  if (Array.isArray(value)) return { kind: 'list', value: value.map((entry) => encodeClone(entry)) }
  if (Object.getPrototypeOf(value) === Object.prototype) {
    return { kind: 'object', value: Object.entries(value as object).map(([key, entry]) => [key, encodeClone(entry)]) }
  }
  throw new Error(`The stand-in cannot carry ${Object.prototype.toString.call(value)}`)
}

export function decodeClone(coded: unknown): unknown {
  const { kind, value } = coded as { kind: string; value: unknown }
  if (kind === 'undefined') return undefined
  if (kind === 'plain') return value
  if (kind === 'buffer' || kind === 'bytes') {
    const bytes = Uint8Array.from(atob(value as string), (letter) => letter.charCodeAt(0))
    return kind === 'bytes' ? bytes : bytes.buffer
  }
  if (kind === 'list') return (value as unknown[]).map((entry) => decodeClone(entry))
  return Object.fromEntries((value as [string, unknown][]).map(([key, entry]) => [key, decodeClone(entry)]))
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Returns the content of the first element with this name; null: there is none. Sufficient for S3's flat responses. */
export function textOf(xml: string, name: string): string | null {
  const start = xml.indexOf(`<${name}>`)
  const end = start === -1 ? -1 : xml.indexOf(`</${name}>`, start)
  if (end === -1) return null
  return decode(xml.slice(start + name.length + 2, end))
}

/** Returns the content of each element with this name. These elements must not be nested. */
export function elementsOf(xml: string, name: string): string[] {
  const found: string[] = []
  for (let at = 0; ; ) {
    const start = xml.indexOf(`<${name}>`, at)
    const end = start === -1 ? -1 : xml.indexOf(`</${name}>`, start)
    if (end === -1) return found
    found.push(xml.slice(start + name.length + 2, end))
    at = end
  }
}

const decode = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,4}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })

/** Escapes an ETag, which can contain quotes, for the body of CompleteMultipartUpload. */
export const encode = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

/**
 * Parses the query of a URL. A list is a repeated name (`?status=failed&status=lost`), which people can read and type.
 */
export function parseAddress(search: string): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [name, value] of new URLSearchParams(search)) {
    const before = result[name]
    result[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return result
}

export function formatAddress(search: Record<string, unknown>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== '') params.append(name, String(each))
    }
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** The only two functions that put text into SQL; everything else that comes from outside is a bound parameter. */

/** A column name. In DuckDB only the quote ends a name. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('\0', '').replaceAll('"', '""')}"`
}

/** A path, for the places where SQL takes no parameter. */
export function quoteText(text: string): string {
  if (text.includes('\0')) throw new Error('A path contains a NUL character')
  return `'${text.replaceAll("'", "''")}'`
}

/** A field of an item as a JSON pointer (RFC 6901), for a bound parameter: nothing in its name has a meaning. */
export function pointerTo(field: string): string {
  return `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

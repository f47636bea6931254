/**
 * One value of an INI file as Python's ConfigParser reads it: sections in brackets, keys without regard to case,
 * comments as whole lines, the last of equal keys wins. Null when there is none.
 */
export function readIniValue(text: string, section: string, key: string): string | null {
  let current = ''
  let found: string | null = null
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    if (/^\s*[#;]/.test(line)) continue
    const header = /^\[([^\]]+)\]/.exec(line)
    if (header) {
      current = header[1]!
      continue
    }
    const delimiter = line.search(/[=:]/)
    // An indented line goes on with the value above; none of the values we need has such lines.
    if (current !== section || delimiter < 0 || /^\s/.test(line)) continue
    if (line.slice(0, delimiter).trim().toLowerCase() === key) found = line.slice(delimiter + 1).trim()
  }
  return found
}

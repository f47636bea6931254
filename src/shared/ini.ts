/** Values by section and lower-case key, before `%` is resolved. The section DEFAULT applies to all others. */
export type IniSections = Map<string, Map<string, IniValue>>

export interface IniValue {
  text: string
  line: number
}

export interface ParsedIni {
  sections: IniSections
  /** Lines that Python's ConfigParser rejects. All other lines are still parsed. */
  problems: { line: number; text: string }[]
}

const DEFAULT_SECTION = 'DEFAULT'
const REFERENCES_DEPTH = 10

/**
 * Parses text like Python's ConfigParser: case-insensitive keys, `=` or `:` after the key, and whole-line comments
 * (`#`, `;`). More deeply indented lines continue the value above, including empty lines between them. `%` is kept:
 * `resolveIniValue` resolves it after several files are merged.
 */
export function parseIni(text: string): ParsedIni {
  const sections: IniSections = new Map()
  const problems: ParsedIni['problems'] = []
  const seenHere = new Set<string>()
  let section: Map<string, IniValue> | null = null
  let sectionName = ''
  let open: { key: string; line: number; lines: string[] } | null = null
  let indent = 0

  const closeValue = () => {
    if (open !== null) section!.set(open.key, { text: open.lines.join('\n').trimEnd(), line: open.line })
    open = null
  }
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .entries()) {
    const content = line.trim()
    const isComment = content.startsWith('#') || content.startsWith(';')
    if (content === '' || isComment) {
      if (!isComment) (open as { lines: string[] } | null)?.lines.push('')
      continue
    }
    const depth = line.search(/\S/)
    if (open !== null && depth > indent) {
      ;(open as { lines: string[] }).lines.push(content)
      continue
    }
    indent = depth
    const problem = (what: string) => problems.push({ line: index + 1, text: what })
    const header = /^\[(.+)\]/.exec(content)
    if (header) {
      closeValue()
      sectionName = header[1]!
      if (sectionName !== DEFAULT_SECTION && seenHere.has(`[${sectionName}]`)) problem(`[${sectionName}] appears twice`)
      seenHere.add(`[${sectionName}]`)
      section = sections.get(sectionName) ?? new Map()
      sections.set(sectionName, section)
      continue
    }
    // Do not use a regular expression that can backtrack over whitespace, because this also parses untrusted eggs.
    const delimiter = content.search(/[=:]/)
    if (section === null) problem('it comes before the first [section]')
    else if (delimiter < 1) problem('it is neither "name = value" nor a [section]')
    else {
      closeValue()
      const key = content.slice(0, delimiter).trimEnd().toLowerCase()
      if (seenHere.has(`${sectionName}\n${key}`)) problem(`${key} appears twice in [${sectionName}]`)
      seenHere.add(`${sectionName}\n${key}`)
      open = { key, line: index + 1, lines: [content.slice(delimiter + 1).trimStart()] }
    }
  }
  closeValue()
  return { sections, problems }
}

/** Resolves `%(name)s` (from the section, otherwise DEFAULT) and `%%`. Throws where ConfigParser would. */
export function resolveIniValue(sections: IniSections, section: string, key: string): string | null {
  const find = (name: string) => sections.get(section)?.get(name) ?? sections.get(DEFAULT_SECTION)?.get(name) ?? null
  const resolve = (text: string, depth: number): string => {
    if (depth > REFERENCES_DEPTH) throw new Error('its %(name)s references form a cycle')
    return text.replace(/%(%|\(([^)]+)\)s|)/g, (_all, reference: string, name: string | undefined) => {
      if (reference === '%') return '%'
      if (name === undefined) throw new Error('a "%" is followed by neither "%" nor "(name)s"; write "%%" for one "%"')
      const value = find(name.toLowerCase())
      if (value === null) throw new Error(`%(${name})s refers to an option that is not set`)
      return resolve(value.text, depth + 1)
    })
  }
  const value = find(key)
  return value === null ? null : resolve(value.text, 1)
}

/** Returns the raw value (of a repeated key, the last) or null. For files in which `%` has no meaning. */
export function readIniValue(text: string, section: string, key: string): string | null {
  return parseIni(text).sections.get(section)?.get(key)?.text ?? null
}

const ON = ['1', 'yes', 'true', 'on']
const OFF = ['0', 'no', 'false', 'off']

export function readSwitch(text: string): boolean | null {
  const word = text.toLowerCase()
  if (ON.includes(word)) return true
  return OFF.includes(word) ? false : null
}

import { sentence } from '../../shared/texts/errors/names.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'
import { unseenIn } from '../../shared/unseen.ts'

const LONGEST_NAME_BYTES = 200
const LONGEST_VERSION = 200
const LONGEST_SPIDER = 200

/**
 * Why a name cannot be a path component, worded to follow the name ("is empty"); null if it can. Names of projects and
 * spiders become folders here and on nodes. Scrapyd accepts "" and "." as a project, where they mean the whole eggs
 * folder (scrapyd-protocol.md, 3.9).
 */
export function problemOfPathPart(name: string): Sentence | null {
  const problem = problemOfFolderName(name)
  if (problem !== null) return problem
  const shown = problemOfShown(name)
  if (shown !== null) return shown
  const onWindows = process.platform === 'win32' ? problemOfWindowsName(name) : null
  if (onWindows !== null) return onWindows
  if (Buffer.byteLength(name) > LONGEST_NAME_BYTES)
    return sentence('names.too_many_bytes', { most: LONGEST_NAME_BYTES })
  return null
}

/** Checks only the rules that apply on every operating system. */
export function problemOfFolderName(name: string): Sentence | null {
  if (name === '') return sentence('names.empty')
  if (name === '.' || name === '..') return sentence('names.folder_reference')
  if (/[/\\]/.test(name)) return sentence('names.slash')
  if (name.includes('\0')) return sentence('names.control_character')
  return name.isWellFormed() ? null : sentence('names.half_character')
}

/** Names with a special meaning in Windows: a stream, a device (even with an extension), or a trailing dot or space. */
export function problemOfWindowsName(name: string): Sentence | null {
  if (/[<>:"|?*]/.test(name)) return sentence('names.forbidden_by_windows')
  if (/[. ]$/.test(name)) return sentence('names.end_dropped_by_windows')
  if (/^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)/i.test(name))
    return sentence('names.windows_device')
  return null
}

export function problemOfSpiderName(name: string): Sentence | null {
  if (name === '') return sentence('names.empty')
  return (
    problemOfShown(name) ?? (name.length > LONGEST_SPIDER ? sentence('names.too_long', { most: LONGEST_SPIDER }) : null)
  )
}

function problemOfShown(name: string): Sentence | null {
  const character = unseenIn(name)
  if (character === null) return null
  return character === 'control'
    ? sentence('names.control_character')
    : sentence('names.invisible_character', { character })
}

/**
 * Why a name cannot be a version, worded to follow the name; null if it can. Nodes sanitize names when they
 * store them.
 */
export function problemOfVersionName(version: string): Sentence | null {
  if (version === '') return sentence('names.empty')
  const shown = problemOfShown(version)
  if (shown !== null) return shown
  return version.length > LONGEST_VERSION ? sentence('names.too_long', { most: LONGEST_VERSION }) : null
}

/**
 * Why an entry of an archive cannot have this name, worded to follow the name; null if it can. We never extract
 * archives, but nodes and Python can.
 */
export function problemOfEntryName(name: string): Sentence | null {
  if (name === '') return sentence('names.empty')
  if (hasControlCharacters(name)) return sentence('names.control_character')
  if (name.includes('\\')) return sentence('names.backslash')
  if (name.startsWith('/')) return sentence('names.absolute_path')
  if (/^[A-Za-z]:/.test(name)) return sentence('names.drive')
  if (name.split('/').includes('..')) return sentence('names.outside_archive')
  if (Buffer.byteLength(name) > 1024) return sentence('names.too_many_bytes', { most: 1024 })
  return null
}

/** Control characters truncate or hide names in paths, logs and headers. */
function hasControlCharacters(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 32 || code === 127) return true
  }
  return false
}

/** `demo.settings`: valid Python identifiers joined by dots. */
export function isModuleName(text: string): boolean {
  return /^[\p{ID_Start}_][\p{ID_Continue}]*(\.[\p{ID_Start}_][\p{ID_Continue}]*)*$/u.test(text)
}

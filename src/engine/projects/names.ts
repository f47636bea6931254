import { problemOfShownName } from '../../shared/unseen.ts'

const LONGEST_NAME_BYTES = 200
const LONGEST_VERSION = 200
const LONGEST_SPIDER = 200

/**
 * Why a name cannot be a path component, as text that follows the name ("is empty"); null if it can. Names of
 * projects and spiders become folders here and on nodes. Scrapyd accepts "" and "." as a project, which means its
 * whole eggs folder (scrapyd-protocol.md, 3.9).
 */
export function problemOfPathPart(name: string): string | null {
  const problem = problemOfFolderName(name)
  if (problem !== null) return problem
  const shown = problemOfShownName(name)
  if (shown !== null) return shown
  const onWindows = process.platform === 'win32' ? problemOfWindowsName(name) : null
  if (onWindows !== null) return onWindows
  if (Buffer.byteLength(name) > LONGEST_NAME_BYTES) return `is longer than ${LONGEST_NAME_BYTES} bytes`
  return null
}

/** Checks only for names that every system rejects. */
export function problemOfFolderName(name: string): string | null {
  if (name === '') return 'is empty'
  if (name === '.' || name === '..') return 'is a folder reference'
  if (/[/\\]/.test(name)) return 'contains a slash'
  if (name.includes('\0')) return 'contains a control character'
  return name.isWellFormed() ? null : 'contains half a character'
}

/** Names with a special meaning in Windows: a stream, a device (even with an extension), or a trailing dot or space. */
export function problemOfWindowsName(name: string): string | null {
  if (/[<>:"|?*]/.test(name)) return 'contains a character that Windows forbids in names'
  if (/[. ]$/.test(name)) return 'ends in a dot or a space, which Windows drops'
  if (/^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)/i.test(name)) return 'is a Windows device name'
  return null
}

export function problemOfSpiderName(name: string): string | null {
  if (name === '') return 'is empty'
  return (
    problemOfShownName(name) ?? (name.length > LONGEST_SPIDER ? `is longer than ${LONGEST_SPIDER} characters` : null)
  )
}

/**
 * Why a name cannot be a version, as text that follows the name; null if it can. Nodes sanitize names when they
 * store them.
 */
export function problemOfVersionName(version: string): string | null {
  if (version === '') return 'is empty'
  const shown = problemOfShownName(version)
  if (shown !== null) return shown
  return version.length > LONGEST_VERSION ? `is longer than ${LONGEST_VERSION} characters` : null
}

/**
 * Why an entry of an archive cannot have this name, as text that follows the name; null if it can. We never extract
 * archives, but nodes and Python can.
 */
export function problemOfEntryName(name: string): string | null {
  if (name === '') return 'is empty'
  if (hasControlCharacters(name)) return 'contains a control character'
  if (name.includes('\\')) return 'contains a backslash'
  if (name.startsWith('/')) return 'is an absolute path'
  if (/^[A-Za-z]:/.test(name)) return 'names a drive'
  if (name.split('/').includes('..')) return 'points outside the archive'
  if (Buffer.byteLength(name) > 1024) return 'is longer than 1024 bytes'
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

import type { RefusalKind } from '../node-client.ts'

// A KeyError from ≤1.4 names either a missing parameter or a project.
const PARAMETERS = new Set(['project', 'spider', 'version', 'egg', 'job', 'jobid'])

/** The only code that depends on the wording of errors (scrapyd-protocol.md, 3.2 and 3.3). `what`: the endpoint. */
export function classifyRefusal(message: string, what = ''): RefusalKind {
  const text = message.trim()
  // 1.5+ and our package: Twisted has reaped the process. ≤1.4 sends only the exception's text, which is empty.
  if (/^Process(ExitedAlready|LookupError):/.test(text) || (text === '' && what === 'cancel.json'))
    return 'process_ended'
  // 1.5+
  if (isNamed(text, 'project ')) return 'unknown_project'
  if (isNamed(text, 'version ')) return 'unknown_version'
  // All versions
  if (isNamed(text, 'spider ')) return 'unknown_spider'
  // ≤1.4: the output of `scrapy list` without a project, and KeyErrors
  if (/^Scrapy [^\n]{1,40} - no active project/.test(text)) return 'unknown_project'
  const keyError = /^b?(['"])([^\n]{1,500})\1$/.exec(text)?.[2]
  if (keyError !== undefined && !PARAMETERS.has(keyError)) return 'unknown_project'
  // ≤1.4: a missing file under eggs_dir. The path from delproject has no `.egg`.
  const lastLine = text.slice(text.lastIndexOf('\n') + 1)
  if (/\[Errno 2\] No such file or directory: '[^\n]{1,2000}\.egg'$/.test(lastLine)) return 'unknown_version'
  if (/^\[Errno 2\] No such file or directory: '[^\n]{1,2000}'$/.test(text)) return 'unknown_project'
  if (isBadEgg(text, lastLine)) return 'bad_egg'
  if (text.startsWith('DirectoryTraversalError: ')) return 'unrunnable'
  // The output of the spider listing, which can be empty. 1.5+ adds a prefix.
  if (text === '' || text.startsWith('RunnerError:') || /^Traceback \(most recent call last\):$/m.test(text))
    return 'import_failed'
  return 'other'
}

/** Whether a refused addversion stored nothing, so that there is nothing to remove. */
export function storedNothing(message: string): boolean {
  return message.startsWith('egg is not a ZIP file') || message.startsWith('DirectoryTraversalError')
}

/** Scrapyd 1.2 lists jobs only for a given project. */
export function needsProject(message: string): boolean {
  return message === "'project'"
}

function isNamed(text: string, noun: string): boolean {
  return text.startsWith(`${noun}'`) && text.endsWith("' not found")
}

function isBadEgg(text: string, lastLine: string): boolean {
  return (
    text.startsWith('egg is not a ZIP file') ||
    lastLine.startsWith('scrapyd.exceptions.BadEggError') ||
    lastLine === 'ValueError: Unknown or corrupt egg' ||
    lastLine === "TypeError: 'tuple' object is not an iterator" ||
    lastLine === "AttributeError: 'NoneType' object has no attribute 'module_name'"
  )
}

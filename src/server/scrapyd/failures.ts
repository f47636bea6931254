import { isScrapdeckError } from '../../shared/errors.ts'
import type { FormValues } from '../forms/form-values.ts'
import { ScrapydAnswerError } from './parameters.ts'

/** What a request names; Scrapyd repeats it in its error. */
export interface Asked {
  project: string
  version: string
  spider: string
}

/** Called before the endpoint takes parameters out of `args`. Lenient: the endpoint reports invalid ones. */
export function readAsked(args: FormValues): Asked {
  const first = (name: string) => args.get(name)?.[0]?.toString('utf8')
  return {
    project: first('project') ?? '',
    version: first('_version') ?? first('version') ?? '',
    spider: first('spider') ?? ''
  }
}

/**
 * The message of a failure in Scrapyd's words (scrapyd-protocol.md, 3.2 and 3.3), so that clients that match on them
 * work; null for unexpected errors, whose details are not shown to clients.
 */
export function wordFailure(error: unknown, asked: Asked): string | null {
  if (error instanceof ScrapydAnswerError) return error.message
  if (!isScrapdeckError(error)) return null
  switch (error.code) {
    case 'PROJECT_NOT_FOUND':
      return `project '${asked.project}' not found`
    case 'VERSION_NOT_FOUND':
      return `version '${asked.version}' not found`
    case 'SPIDER_NOT_FOUND':
      return `spider '${asked.spider}' not found`
    case 'EGG_NOT_A_ZIP':
      return 'egg is not a ZIP file (if using curl, use egg=@path not egg=path)'
    case 'EGG_NO_METADATA':
      return runnerError(`  ${error.message}\nscrapyd.exceptions.BadEggError`)
    case 'EGG_NO_SETTINGS':
      return runnerError(`  ${error.message}\nAttributeError: 'NoneType' object has no attribute 'module_name'`)
    case 'EGG_IMPORT_FAILED':
      return runnerError(typeof error.data.stderr === 'string' ? error.data.stderr : error.message)
    default:
      return error.message
  }
}

/** Scrapyd passes on a traceback of the process that listed the spiders; its last line says what failed. */
function runnerError(text: string): string {
  const beginning = /^(?:Traceback|\S)/.test(text) ? '' : 'Traceback (most recent call last):\n'
  return `RunnerError: ${beginning}${text}\n`
}

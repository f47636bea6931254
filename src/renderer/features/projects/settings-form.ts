import type { ProjectPython, ProjectSettings } from '../../../shared/contract/index.ts'
import { type LimitTexts, limitTexts, readLimits } from '../../ui/fields/limits.ts'
import { readRetry, type RetryTexts, retryTexts } from '../../ui/fields/retry.ts'

/** What stands in the dialog; the fields of the kinds not chosen keep what was typed. */
export interface SettingsForm {
  readonly kind: ProjectPython['kind']
  readonly path: string
  readonly requirements: string
  readonly limits: LimitTexts
  readonly weight: string
  readonly paused: boolean
  readonly retry: RetryTexts
  readonly noOverlap: boolean
  readonly distribution: ProjectSettings['distribution']
}

const WEIGHT_MIN = 0.01
const WEIGHT_MAX = 100

export function startSettings(settings: ProjectSettings): SettingsForm {
  const { python, limits, weight, retry, paused, noOverlap, distribution } = settings
  return {
    weight: String(weight),
    paused,
    retry: retryTexts(retry),
    noOverlap,
    distribution,
    kind: python.kind,
    path: python.kind === 'interpreter' ? python.path : '',
    requirements: python.kind === 'requirements' ? python.text : '',
    limits: limitTexts(limits)
  }
}

/** What is saved, or what is missing, in words. */
export function readSettings(form: SettingsForm): { settings: ProjectSettings } | { missing: string } {
  const limits = readLimits(form.limits)
  const python = readPython(form)
  if ('missing' in python) return python
  if ('problem' in limits) return { missing: limits.problem }
  const retry = readRetry(form.retry)
  if ('problem' in retry) return { missing: retry.problem }
  const weight = Number(form.weight)
  if (form.weight.trim() === '' || !(weight >= WEIGHT_MIN && weight <= WEIGHT_MAX))
    return { missing: `The weight is a number from ${WEIGHT_MIN} to ${WEIGHT_MAX}` }
  const { paused, noOverlap, distribution } = form
  return {
    settings: {
      python: python.python,
      limits: limits.limits,
      weight,
      paused,
      retry: retry.retry,
      noOverlap,
      distribution
    }
  }
}

function readPython({ kind, path, requirements }: SettingsForm): { python: ProjectPython } | { missing: string } {
  if (kind === 'default') return { python: { kind } }
  if (kind === 'interpreter') {
    const trimmed = path.trim()
    if (trimmed === '') return { missing: 'Name the interpreter' }
    // The service may run on another system than this page: both forms count.
    if (!/^(\/|[A-Za-z]:[\\/]|\\\\)/.test(trimmed)) return { missing: 'Give the whole path, from / or a drive' }
    return { python: { kind, path: trimmed } }
  }
  if (requirementCount(requirements) === 0) return { missing: 'Name at least one package' }
  return { python: { kind, text: requirements } }
}

/** Lines that ask for something: no comments, no options of pip. */
export function requirementCount(text: string): number {
  return text.split(/\r\n|\r|\n/).filter((line) => /^\s*[^\s#-]/.test(line)).length
}

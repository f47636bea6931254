import type { ProjectPython, ProjectSettings } from '../../../shared/contract/index.ts'
import { type LimitTexts, limitTexts, readLimits } from '../../ui/limits.ts'

/** What stands in the dialog; the fields of the kinds not chosen keep what was typed. */
export interface SettingsForm {
  readonly kind: ProjectPython['kind']
  readonly path: string
  readonly requirements: string
  readonly limits: LimitTexts
}

export function startSettings({ python, limits }: ProjectSettings): SettingsForm {
  return {
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
  return { settings: { python: python.python, limits: limits.limits } }
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

import type { RunInput } from '../../../shared/contract/index.ts'
import type { RunPrefill } from '../../state/run-dialog.ts'
import { type LimitTexts, limitTexts, readLimits } from '../../ui/fields/limits.ts'
import { parseTagExpression } from '../../ui/fields/tag-expression.ts'
import { type FormRow, lacksSecret, problemOfRow, rowsOf, valuesOf } from '../../ui/fields/value-rows.ts'
import { type MoreForm, readMore, startMore } from './run-more-form.ts'
import { startWhen, type WhenForm } from './run-when-form.ts'

export interface RunForm {
  readonly project: string | null
  /** null: the latest. */
  readonly version: string | null
  readonly spiders: readonly string[]
  readonly args: readonly FormRow[]
  readonly settings: readonly FormRow[]
  readonly where: 'any' | 'tags' | 'node'
  readonly nodeId: string | null
  /** As an expression: `eu|us !slow`. */
  readonly tags: string
  readonly priority: number
  readonly limits: LimitTexts
  readonly when: WhenForm
  readonly more: MoreForm
}

/** What the dialog begins with: what it was opened with, and the last used for everything not said. */
export function startForm(prefill: RunPrefill, last: RunPrefill | null): RunForm {
  // Arguments belong to a spider: those of the last run are not carried over to another project.
  const base = prefill.project === undefined || prefill.project === last?.project ? { ...last, ...prefill } : prefill
  if (prefill.spiders !== undefined && !prefill.spiders.every((spider) => last?.spiders?.includes(spider))) {
    base.args = prefill.args
    base.settings = prefill.settings
    base.secretNames = prefill.secretNames
    base.limits = prefill.limits
    base.retry = prefill.retry
    base.noOverlap = prefill.noOverlap
  }
  const more = startMore(base, prefill)
  return {
    project: base.project ?? null,
    version: prefill.version ?? null,
    spiders: base.spiders ?? [],
    args: rowsOf(base.args, base.secretNames),
    settings: rowsOf(base.settings, base.secretNames),
    where: base.nodeId ? 'node' : base.tags?.length ? 'tags' : 'any',
    nodeId: base.nodeId ?? null,
    tags: (base.tags ?? []).join(' '),
    priority: base.priority ?? 0,
    limits: limitTexts(base.limits),
    when: startWhen(more.notBefore),
    more
  }
}

/** What the engine is asked for, or what is missing, in words. */
export function readForm(form: RunForm, nowMs = Date.now()): { run: RunInput } | { missing: string } {
  if (form.project === null) return { missing: 'Choose a project' }
  if (form.spiders.length === 0) return { missing: 'Choose at least one spider' }
  if (form.where === 'node' && form.nodeId === null) return { missing: 'Choose a node, or run on any' }
  const tags = parseTagExpression(form.tags)
  if (form.where === 'tags') {
    if ('problem' in tags) return { missing: tags.problem }
    if (tags.terms.length === 0) return { missing: 'Choose a tag, or run on any node' }
  }
  for (const kind of ['args', 'settings'] as const) {
    const problem = form[kind].map((row) => problemOfRow(kind, row, form[kind])).find((each) => each !== null)
    if (problem !== undefined) return { missing: problem as string }
    const lacking = form[kind].find(lacksSecret)
    if (lacking !== undefined) return { missing: `${lacking.name.trim()}: enter its secret value` }
  }
  const limits = readLimits(form.limits)
  if ('problem' in limits) return { missing: limits.problem }
  if (form.when.kind === 'at' && form.more.notBefore === '')
    return { missing: 'At which time? Choose a day and a time' }
  const more = readMore(moreOf(form), nowMs)
  if ('problem' in more) return { missing: more.problem }
  const secretNames = [...form.args, ...form.settings].filter(({ isSecret }) => isSecret).map(({ name }) => name.trim())
  return {
    run: {
      project: form.project,
      version: form.version,
      spiders: [...form.spiders],
      args: valuesOf(form.args),
      settings: valuesOf(form.settings),
      secretNames: [...new Set(secretNames)].filter((name) => name !== ''),
      limits: limits.limits,
      priority: form.priority,
      nodeId: form.where === 'node' ? form.nodeId : null,
      tags: form.where === 'tags' && 'terms' in tags ? tags.terms : [],
      ...more.more
    }
  }
}

/** What counts of More: a time only where one is asked for; of what is run again and again only how it is retried. */
function moreOf({ when, more }: RunForm): MoreForm {
  if (when.kind === 'at') return more
  return when.kind === 'now'
    ? { ...more, notBefore: '' }
    : { ...more, notBefore: '', expires: '', noOverlap: null, after: [], dedupeKey: '' }
}

/** What may be kept for the next time: everything but the secrets, whose names stay. */
export function withoutSecrets(run: RunInput): RunInput {
  const kept = (values: Record<string, string> = {}) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, run.secretNames?.includes(name) ? '' : value])
    )
  return { ...run, args: kept(run.args), settings: kept(run.settings) }
}

import { z } from 'zod'
import {
  type JobDefaults,
  NO_DEFAULTS,
  type NodeId,
  type ProjectSettingsChange,
  SECRET_MASK
} from '../../../shared/contract/index.ts'
import { type FormRow, rowsForm, rowsOf, secretNamesOf, valuesOf } from '../../ui/fields/form-rows.ts'
import { type JobTexts, jobTexts, WhereForm } from '../../ui/fields/job-form.ts'
import { plural } from '../../ui/numbers.ts'
import { texts } from '../../../shared/texts/ui/projects.ts'

export interface DefaultsTexts extends Pick<JobTexts, 'args' | 'settings' | 'where' | 'nodeId' | 'tags' | 'priority'> {
  env: FormRow[]
}

export const DefaultsForm = z
  .object({
    args: rowsForm('args'),
    settings: rowsForm('settings'),
    env: rowsForm('env'),
    priority: z.custom<number | string>().transform((typed) => (typed === '' ? null : Number(typed) || 0))
  })
  .and(WhereForm)
  .transform(({ args, settings, env, ...rest }) => ({
    ...NO_DEFAULTS,
    ...rest,
    ...{ args: valuesOf(args), settings: valuesOf(settings), env: valuesOf(env) },
    secretNames: secretNamesOf([...args, ...settings, ...env])
  })) as never as z.ZodType<JobDefaults, DefaultsTexts>

/** A secret is kept unless another value is entered: its dots are sent back. */
export function startDefaults({ env, secretNames, priority, ...defaults }: JobDefaults): DefaultsTexts {
  const { args, settings, where, nodeId, tags } = jobTexts({ ...defaults, secretNames })
  const keep = (rows: FormRow[]) => rows.map((row) => (row.isSecret ? { ...row, value: SECRET_MASK } : row))
  return {
    ...{ args: keep(args), settings: keep(settings), env: keep(rowsOf(env, secretNames)) },
    ...{ where: where === 'any' ? 'default' : where, nodeId, tags, priority: priority ?? '' }
  }
}

/** What changes with the defaults of a spider (null: of the project); empty ones of a spider are removed. */
export function changeOfDefaults(spider: string | null, defaults: JobDefaults): ProjectSettingsChange {
  if (spider === null) return { defaults }
  const isEmpty = describeDefaults(defaults, (id) => id) === null
  return { spiderDefaults: { [spider]: isEmpty ? null : defaults } }
}

/** `4 arguments · variable PROXY · priority 5 · #eu`; null: none. */
export function describeDefaults(
  { args, settings, env, priority, nodeId, tags }: JobDefaults,
  nodeName: (id: NodeId) => string
): string | null {
  const counts = [
    [args, 'argument'],
    [settings, 'setting'],
    [env, 'variable']
  ] as const
  const words = counts.flatMap(([values, word]) => {
    const names = Object.keys(values)
    if (names.length === 0) return []
    return [names.length > 3 ? plural(names.length, word) : `${word}${names.length > 1 ? 's' : ''} ${names.join(', ')}`]
  })
  if (priority !== null) words.push(texts.priority(priority))
  if (nodeId !== null) words.push(texts.node(nodeName(nodeId)))
  if (tags.length > 0) words.push(tags.map((tag) => `#${tag}`).join(' '))
  return words.length === 0 ? null : words.join(' · ')
}

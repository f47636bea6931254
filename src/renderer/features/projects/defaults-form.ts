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
    args: valuesOf(args),
    settings: valuesOf(settings),
    env: valuesOf(env),
    secretNames: secretNamesOf([...args, ...settings, ...env])
  })) as never as z.ZodType<JobDefaults, DefaultsTexts>

/** Masks secrets. If the user enters no other value, the form sends the mask, and the engine keeps the secret. */
export function startDefaults({ env, secretNames, priority, ...defaults }: JobDefaults): DefaultsTexts {
  const { args, settings, where, nodeId, tags } = jobTexts({ ...defaults, secretNames })
  const keep = (rows: FormRow[]) => rows.map((row) => (row.isSecret ? { ...row, value: SECRET_MASK } : row))
  return {
    args: keep(args),
    settings: keep(settings),
    env: keep(rowsOf(env, secretNames)),
    where: where === 'any' ? 'default' : where,
    nodeId,
    tags,
    priority: priority ?? ''
  }
}

/** `spider`: null for the project. Empty defaults of a spider are removed. */
export function changeOfDefaults(spider: string | null, defaults: JobDefaults): ProjectSettingsChange {
  if (spider === null) return { defaults }
  const isEmpty = describeDefaults(defaults, (id) => id) === null
  return { spiderDefaults: { [spider]: isEmpty ? null : defaults } }
}

/** `4 arguments · variable PROXY · priority 5 · #eu`. null: none. */
export function describeDefaults(
  { args, settings, env, priority, nodeId, tags }: JobDefaults,
  nodeName: (id: NodeId) => string
): string | null {
  const facts = [
    [args, texts.argumentsFact],
    [settings, texts.settingsFact],
    [env, texts.variablesFact]
  ] as const
  const words = facts.flatMap(([values, fact]) => {
    const names = Object.keys(values)
    return names.length === 0 ? [] : [fact(names)]
  })
  if (priority !== null) words.push(texts.priorityFact(priority))
  if (nodeId !== null) words.push(texts.nodeNamed(nodeName(nodeId)))
  if (tags.length > 0) words.push(tags.map((tag) => `#${tag}`).join(' '))
  return words.length === 0 ? null : words.join(' · ')
}

import { z } from 'zod'
import { LimitRule, NewLimitRule } from '../../../shared/contract/index.ts'
import { numberText, textOrNull } from '../../ui/fields/texts.ts'
import { plural } from '../../ui/numbers.ts'

/** A rule while it is being edited. */
export interface RuleTexts {
  id: string
  project: string
  spider: string
  tag: string
  perNode: boolean
  max: number | string
}

export const textsOfRule = ({ id, project, spider, tag, perNode, max }: LimitRule): RuleTexts => ({
  id,
  project: project ?? '',
  spider: spider ?? '',
  tag: tag ?? '',
  perNode,
  max
})

export function newRule(): RuleTexts {
  const id = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return { id, project: '', spider: '', tag: '', perNode: false, max: '' }
}

export const RuleForm = z.object({
  id: z.string(),
  project: textOrNull,
  spider: textOrNull,
  tag: textOrNull.pipe(NewLimitRule.shape.tag),
  perNode: z.boolean(),
  max: numberText(LimitRule.shape.max)
}) as never as z.ZodType<LimitRule, RuleTexts>
export const LimitsForm: z.ZodType<{ limits: LimitRule[] }, { limits: RuleTexts[] }> = z.object({
  limits: z.array(RuleForm)
})

/** `at most 1 run of amazon* on each node`. */
export function ruleSentence({ project, spider, tag, perNode, max }: Omit<LimitRule, 'id'>): string {
  const many = max === 0 ? 'no runs' : `at most ${plural(max, 'run')}`
  const all = isAll(project) && isAll(spider)
  const what = all
    ? 'of any spider'
    : isAll(project)
      ? `of ${spider}`
      : isAll(spider)
        ? `of project ${project}`
        : `of ${project}/${spider}`
  const where = perNode
    ? tag === null
      ? 'on each node'
      : `on each node with tag ${tag}`
    : tag === null
      ? 'in the fleet'
      : `on all nodes with tag ${tag} combined`
  return `${many} ${what} ${where}`
}

const isAll = (value: string | null) => value === null || /^\*+$/.test(value)

/** `3 of 40`; for a rule per node, the node with the most. */
export function liveWords({ perNode, max, live }: LimitRule & { live: number }): string {
  return perNode ? `${live} of ${max} on the busiest node` : `${live} of ${max}`
}

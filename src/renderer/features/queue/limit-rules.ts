import type { LimitRule } from '../../../shared/contract/index.ts'
import { plural } from '../../ui/numbers.ts'

/** A rule while somebody edits it: texts, so that half of one can stand there. */
export interface RuleForm {
  readonly id: string
  readonly project: string
  readonly spider: string
  readonly tag: string
  readonly perNode: boolean
  readonly max: number | ''
}

export const formOfRule = ({ id, project, spider, tag, perNode, max }: LimitRule): RuleForm => ({
  id,
  project: project ?? '',
  spider: spider ?? '',
  tag: tag ?? '',
  perNode,
  max
})

export function newRule(): RuleForm {
  const id = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return { id, project: '', spider: '', tag: '', perNode: false, max: '' }
}

/** The rule, or what is wrong with it, in words. */
export function readRule(form: RuleForm): { rule: LimitRule } | { problem: string } {
  const [project, spider, tag] = [form.project.trim(), form.spider.trim(), form.tag.trim()]
  if (/[\s|!]/.test(tag)) return { problem: 'One tag, without blanks, | or !' }
  if (form.max === '') return { problem: 'Say how many at most; 0 lets none start' }
  return {
    rule: {
      id: form.id,
      project: project || null,
      spider: spider || null,
      tag: tag || null,
      perNode: form.perNode,
      max: form.max
    }
  }
}

/** `at most 1 run of amazon* on each node`. */
export function ruleSentence({ project, spider, tag, perNode, max }: Omit<LimitRule, 'id'>): string {
  const many = max === 0 ? 'no run' : `at most ${plural(max, 'run')}`
  const all = isAll(project) && isAll(spider)
  const what = all
    ? 'of anything'
    : isAll(project)
      ? `of ${spider}`
      : isAll(spider)
        ? `of project ${project}`
        : `of ${project}/${spider}`
  const where = perNode
    ? tag === null
      ? 'on each node'
      : `on each node tagged ${tag}`
    : tag === null
      ? 'in the whole fleet'
      : `on all nodes tagged ${tag} together`
  return `${many} ${what} ${where}`
}

const isAll = (value: string | null) => value === null || /^\*+$/.test(value)

/** `3 of 40`; for a rule for each node, the node that has most. */
export function liveWords({ perNode, max, live }: LimitRule & { live: number }): string {
  return perNode ? `${live} of ${max} on the fullest node` : `${live} of ${max}`
}

export function isSameRules(forms: readonly RuleForm[], rules: readonly LimitRule[]): boolean {
  return JSON.stringify(forms) === JSON.stringify(rules.map(formOfRule))
}

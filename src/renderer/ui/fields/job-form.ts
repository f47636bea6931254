import { z } from 'zod'
import { problemOfText } from '../../../shared/calendar/index.ts'
import type { NodeId, ProjectName, RunTemplate, VersionName } from '../../../shared/contract/index.ts'
import { RunLimitsForm, runLimitTexts } from './run-limits.ts'
import { RetryForm, retryTexts } from './retry.ts'
import { parseTagExpression } from './tag-expression.ts'
import { rowsForm, rowsOf, secretNamesOf, valuesOf } from './form-rows.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'
import { textOfProblem } from '../../api/in-language.ts'

const tagTerms = z.string().transform((text, context) => {
  const read = parseTagExpression(text)
  if ('terms' in read && read.terms.length > 0) return read.terms
  const message = 'problem' in read ? read.problem : texts.enterTag
  context.issues.push({ code: 'custom', message, input: text })
  return z.NEVER
})

/** The default nodes, any node, nodes with tags, or one node. The fields of other choices keep their text. */
export const WhereForm = z.discriminatedUnion('where', [
  z.object({ where: z.literal('default') }).transform(() => ({})),
  z.object({ where: z.literal('any') }).transform(() => ({ nodeId: null, tags: [] as string[] })),
  z.object({ where: z.literal('tags'), tags: tagTerms }).transform(({ tags }) => ({ nodeId: null, tags })),
  z
    .object({ where: z.literal('node'), nodeId: z.string(texts.chooseNode) })
    .transform(({ nodeId }) => ({ nodeId, tags: [] as string[] }))
])

export interface JobTexts {
  project: ProjectName | null
  /** null: the version that is active when the job is sent. */
  version: VersionName | null
  spiders: string[]
  args: ReturnType<typeof rowsOf>
  settings: ReturnType<typeof rowsOf>
  where: 'default' | 'any' | 'tags' | 'node'
  nodeId: NodeId | null
  /** As an expression: `eu|us !slow`. */
  tags: string
  priority: number | string
  limits: ReturnType<typeof runLimitTexts>
  retry: ReturnType<typeof retryTexts>
}

type Job = Pick<
  RunTemplate,
  'project' | 'spiders' | 'args' | 'settings' | 'secretNames' | 'limits' | 'priority' | 'nodeId' | 'tags' | 'retry'
> & { version: VersionName | null }

export const jobTexts = (job: Partial<Job>): JobTexts => ({
  project: job.project ?? null,
  version: job.version ?? null,
  spiders: [...(job.spiders ?? [])],
  args: rowsOf(job.args, job.secretNames),
  settings: rowsOf(job.settings, job.secretNames),
  where: job.nodeId ? 'node' : job.tags?.length ? 'tags' : 'any',
  nodeId: job.nodeId ?? null,
  tags: (job.tags ?? []).join(' '),
  priority: job.priority ?? 0,
  limits: runLimitTexts(job.limits),
  retry: retryTexts(job.retry)
})

/** `place` determines the available placeholders. null: placeholders have no meaning. */
export function jobForm(place: 'schedule' | 'chain' | null): z.ZodType<Job, JobTexts> {
  const ofValue = place === null ? undefined : (value: string) => textOfProblem(problemOfText(value, place))
  return z
    .object({
      project: z.string(texts.chooseProject),
      version: z.string().nullable(),
      spiders: z.array(z.string()).min(1, texts.chooseSpider),
      args: rowsForm('args', ofValue),
      settings: rowsForm('settings', ofValue),
      priority: z
        .custom<number | string>()
        .transform((typed) => (typed === '' && place === null ? undefined : Number(typed) || 0)),
      limits: RunLimitsForm,
      retry: RetryForm
    })
    .and(WhereForm)
    .transform(({ args, settings, priority, ...job }) => ({
      ...job,
      ...(priority !== undefined && { priority }),
      args: valuesOf(args),
      settings: valuesOf(settings),
      secretNames: secretNamesOf([...args, ...settings])
    })) as never
}

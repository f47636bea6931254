import { z } from 'zod'
import { type Webhook, WebhookEvent, WebhookSettings } from '../../../shared/contract/index.ts'
import { joinFacts } from '../../ui/numbers.ts'
import { texts } from '../../../shared/texts/ui/webhooks.ts'

export const EVENT_GROUPS: readonly {
  title: string
  summary: (events: string) => string
  events: readonly { value: WebhookEvent; words: string }[]
}[] = [
  {
    title: texts.jobs,
    summary: texts.jobEvents,
    events: [
      { value: 'job.queued', words: texts.queued },
      { value: 'job.started', words: texts.startedEvent },
      { value: 'job.ended', words: texts.endedEvent }
    ]
  },
  {
    title: texts.schedules,
    summary: texts.scheduleEvents,
    events: [
      { value: 'schedule.fired', words: texts.firedEvent },
      { value: 'schedule.missed', words: texts.missedRunEvent },
      { value: 'schedule.paused', words: texts.pausedEvent }
    ]
  },
  {
    title: texts.nodes,
    summary: texts.nodeEvents,
    events: [
      { value: 'node.down', words: texts.downEvent },
      { value: 'node.up', words: texts.upEvent }
    ]
  },
  {
    title: texts.auditLog,
    summary: texts.auditEvents,
    events: [{ value: 'audit.recorded', words: texts.newEntryEvent }]
  }
]

export const WebhookForm = z
  .object({
    name: z.string().trim(),
    url: z
      .string()
      .trim()
      .min(1, texts.urlMissing)
      .refine((url) => /^https?:\/\/[^/]/.test(url) && URL.canParse(url), texts.urlNeedsScheme)
      .refine((url) => !/^https?:\/\/[^/]*@/.test(url), texts.urlHasCredentials)
      .pipe(WebhookSettings.shape.url),
    events: z.array(WebhookEvent).min(1, texts.eventsMissing),
    project: WebhookSettings.shape.project,
    enabled: z.boolean()
  })
  .transform((form): WebhookSettings => ({ ...form, name: form.name || new URL(form.url).hostname }))

export type WebhookTexts = z.input<typeof WebhookForm>

export const startWebhook = (webhook: Webhook | null): WebhookTexts =>
  webhook ?? { name: '', url: '', events: ['job.ended'], project: null, enabled: true }

/** A webhook's problem, with a bare HTTP status turned into a sentence. */
export const problemWords = ({ problem, enabled }: { problem: string; enabled: boolean }): string =>
  !/^\d{3}$/.test(problem)
    ? problem
    : problem === '410' && !enabled
      ? texts.receiverGone
      : texts.receiverReturned(problem)

/** `jobs queued, ended · schedules missed run · project prices` */
export function eventWords({ events, project }: Pick<WebhookSettings, 'events' | 'project'>): string {
  const groups = EVENT_GROUPS.flatMap(({ summary, events: known }) => {
    const words = known.filter(({ value }) => events.includes(value)).map((each) => each.words)
    return words.length === 0 ? [] : [summary(words.join(', '))]
  })
  return joinFacts(...groups, project !== null && texts.projectNamed(project))
}

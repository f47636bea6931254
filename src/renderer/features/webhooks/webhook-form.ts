import { z } from 'zod'
import { type Webhook, WebhookEvent, WebhookSettings } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/webhooks.ts'

/** The events of webhooks, in groups. */
export const EVENT_GROUPS: readonly { title: string; events: readonly { value: WebhookEvent; words: string }[] }[] = [
  {
    title: texts.jobs,
    events: [
      { value: 'job.queued', words: 'queued' },
      { value: 'job.started', words: 'started' },
      { value: 'job.ended', words: 'ended' }
    ]
  },
  {
    title: texts.schedules,
    events: [
      { value: 'schedule.fired', words: 'fired' },
      { value: 'schedule.missed', words: texts.missedRun },
      { value: 'schedule.paused', words: 'paused' }
    ]
  },
  {
    title: texts.nodes,
    events: [
      { value: 'node.down', words: 'down' },
      { value: 'node.up', words: 'up' }
    ]
  },
  { title: texts.auditLog, events: [{ value: 'audit.recorded', words: texts.newEntry }] }
]

export const WebhookForm = z
  .object({
    name: z.string().trim(),
    url: z
      .string()
      .trim()
      .min(1, texts.enterAUrl)
      .refine((url) => /^https?:\/\/[^/]/.test(url) && URL.canParse(url), texts.theUrlMustStartWithHttps)
      .refine((url) => !/^https?:\/\/[^/]*@/.test(url), texts.theUrlCannotContainCredentials)
      .pipe(WebhookSettings.shape.url),
    events: z.array(WebhookEvent).min(1, texts.chooseAtLeastOneEvent),
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
      ? texts.theReceiverReturned410Gone
      : texts.theReceiverReturned(problem)

/** `jobs queued, ended · schedules missed run · project prices` */
export function eventWords({ events, project }: Pick<WebhookSettings, 'events' | 'project'>): string {
  const groups = EVENT_GROUPS.flatMap(({ title, events: known }) => {
    const words = known.filter(({ value }) => events.includes(value)).map((each) => each.words)
    return words.length === 0 ? [] : [`${title.toLowerCase()} ${words.join(', ')}`]
  })
  return groups.join(' · ') + (project === null ? '' : texts.project2(project))
}

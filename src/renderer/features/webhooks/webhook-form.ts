import type { Webhook, WebhookEvent, WebhookSettings } from '../../../shared/contract/index.ts'

/** What a webhook can be told of, in groups, in words. */
export const EVENT_GROUPS: readonly { title: string; events: readonly { value: WebhookEvent; words: string }[] }[] = [
  {
    title: 'Jobs',
    events: [
      { value: 'job.queued', words: 'queued' },
      { value: 'job.started', words: 'started' },
      { value: 'job.ended', words: 'ended, with the outcome' }
    ]
  },
  {
    title: 'Schedules',
    events: [
      { value: 'schedule.fired', words: 'fired' },
      { value: 'schedule.missed', words: 'missed a run' },
      { value: 'schedule.paused', words: 'paused' }
    ]
  },
  {
    title: 'Nodes',
    events: [
      { value: 'node.down', words: 'down' },
      { value: 'node.up', words: 'up again' }
    ]
  }
]

export interface WebhookForm {
  readonly name: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly project: string | null
  readonly enabled: boolean
}

export const startWebhook = (webhook: Webhook | null): WebhookForm =>
  webhook === null
    ? { name: '', url: '', events: ['job.ended'], project: null, enabled: true }
    : { ...webhook, events: [...webhook.events] }

/** What the engine is asked for, or what is missing, in words. */
export function readWebhook(form: WebhookForm): { settings: WebhookSettings } | { missing: string } {
  const url = form.url.trim()
  if (url === '') return { missing: 'Say where to send' }
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return { missing: 'The address begins with https://' }
  if (parsed.username !== '' || parsed.password !== '')
    return { missing: 'No passwords in the address: what is sent is signed instead' }
  if (form.events.length === 0) return { missing: 'Choose at least one event' }
  const name = form.name.trim() || parsed.hostname
  return { settings: { name, url, events: [...form.events], project: form.project || null, enabled: form.enabled } }
}

/** What is wrong with a webhook: a bare status in words. */
export const problemWords = ({ problem, enabled }: { problem: string; enabled: boolean }): string =>
  !/^\d{3}$/.test(problem)
    ? problem
    : problem === '410' && !enabled
      ? 'It answered 410: it wants nothing any more, and was switched off.'
      : `It answered ${problem}.`

/** `when a job ended, a schedule missed a run · only of prices` */
export function eventWords({ events, project }: Pick<WebhookForm, 'events' | 'project'>): string {
  const groups = EVENT_GROUPS.flatMap(({ title, events: known }) => {
    const words = known.filter(({ value }) => events.includes(value)).map((each) => each.words.replace(/,.*/, ''))
    return words.length === 0 ? [] : [`${title.toLowerCase()} ${words.join(', ')}`]
  })
  return groups.join(' · ') + (project === null ? '' : ` · only of ${project}`)
}

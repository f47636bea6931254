import type {
  AlertId,
  AlertNews,
  AlertReport,
  AlertRuleId,
  AlertTarget,
  AlertTargetKind
} from '../../../../shared/contract/index.ts'
import { type Message as Said, say, textOf, written, writtenAs } from '../../../../shared/texts/message.ts'
import type { StoredWebhook } from '../../../model/records.ts'
import type { SendResult } from '../plan-try.ts'

export interface Message<Kind extends AlertTargetKind = AlertTargetKind> {
  target: Extract<AlertTarget, { kind: Kind }>
  channel: StoredWebhook
  /** Identical for each attempt. */
  id: string
  /** As recorded, except that alerts that ended while the message waited are resolved. */
  body: string
  madeAtMs: number
  news: AlertNews
  /** Absent or null: the message is about alerts. */
  report?: AlertReport | null
  secret: string
  /** Records a line of the conversation, without secrets. */
  say: (line: string) => void
}

export type Sender<Kind extends AlertTargetKind> = (message: Message<Kind>) => Promise<SendResult>

/** Throws if the recorded message is not about alerts. */
export function newsIn(body: string): AlertNews {
  const { data } = JSON.parse(body) as { data?: AlertNews }
  if (data === undefined || !Array.isArray(data.firing) || !Array.isArray(data.resolved)) {
    throw new Error('This message is not about alerts')
  }
  return data
}

export const exampleNews = (atMs: number): AlertNews =>
  newsOf('test', {
    ruleName: textOf('mail.channel_test'),
    title: say('alert.test'),
    subject: say('alert_subject.test'),
    text: say('alert.test'),
    value: 1,
    atMs
  })

/** A message about something other than alerts, for channels that support only alerts. */
export function newsOf(
  kind: 'test' | 'report',
  of: { ruleName: string; title: Said; subject: Said; text: Said; value: number; atMs: number }
): AlertNews {
  const id = kind.padEnd(32, '0')
  return {
    kind,
    ruleId: id as AlertRuleId,
    groupId: id,
    ruleName: of.ruleName,
    owner: '',
    severity: 'info',
    ...writtenAs('title', of.title),
    resolved: [],
    moreFiring: 0,
    moreResolved: 0,
    stillFiring: 0,
    firing: [
      {
        id: id as AlertId,
        severity: 'info',
        watch: 'service_problem',
        value: of.value,
        ...writtenAs('subject', of.subject),
        ...written(of.text),
        firedAtMs: of.atMs,
        resolvedAtMs: null,
        labels: {
          project: null,
          spider: null,
          jobId: null,
          scheduleId: null,
          errorGroupId: null,
          nodeId: null,
          nodeTags: []
        }
      }
    ]
  }
}

import type {
  AlertId,
  AlertNews,
  AlertReport,
  AlertRuleId,
  AlertTarget,
  AlertTargetKind
} from '../../../../shared/contract/index.ts'
import { say, written, writtenAs } from '../../../../shared/texts/message.ts'
import type { StoredWebhook } from '../../../model/records.ts'
import type { SendResult } from '../plan-try.ts'

/** The input of a sender of one kind. */
export interface Message<Kind extends AlertTargetKind = AlertTargetKind> {
  target: Extract<AlertTarget, { kind: Kind }>
  channel: StoredWebhook
  /** The same for each attempt. */
  id: string
  /** As recorded, except that alerts that ended while it waited are resolved. */
  body: string
  madeAtMs: number
  /** For a report: its summary. */
  news: AlertNews
  /** Absent or null: the message is about alerts. */
  report?: AlertReport | null
  /** Empty: none. */
  secret: string
  /** Records a line of the conversation, without secrets. */
  say: (line: string) => void
}

export type Sender<Kind extends AlertTargetKind> = (message: Message<Kind>) => Promise<SendResult>

/** Reads a recorded message. Throws for anything else. */
export function newsIn(body: string): AlertNews {
  const { data } = JSON.parse(body) as { data?: AlertNews }
  if (data === undefined || !Array.isArray(data.firing) || !Array.isArray(data.resolved)) {
    throw new Error('This message is not about alerts')
  }
  return data
}

/** An example for testing a channel. */
export function exampleNews(nowMs: number): AlertNews {
  const id = 'test'.padEnd(32, '0')
  const text = say('alert.test')
  return {
    ...{ kind: 'test', ruleId: id as AlertRuleId, ruleName: 'Test of a channel', owner: '', severity: 'info' },
    ...{ ...writtenAs('title', text), groupId: id, resolved: [], moreFiring: 0, moreResolved: 0, stillFiring: 0 },
    firing: [
      {
        ...{ id: id as AlertId, severity: 'info', watch: 'service_problem', value: 1 },
        ...{ ...writtenAs('subject', say('alert_subject.test')), ...written(text) },
        labels: {
          ...{ project: null, spider: null, jobId: null, scheduleId: null, errorGroupId: null, nodeId: null },
          nodeTags: []
        },
        ...{ firedAtMs: nowMs, resolvedAtMs: null }
      }
    ]
  }
}

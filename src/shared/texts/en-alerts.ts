import { utcDay } from '../time.ts'
import { nodeIs, type NodeHealth } from './en-problems.ts'
import { type AtNode, several, type Words, withoutStop } from './parts.ts'

interface OfSpider {
  project: string
  spider: string
}

const nameOf = ({ project, spider }: OfSpider): string => `${project}/${spider}`
/** `engine` is null for the engine that writes this text. */
const certificateOf = ({ engine }: { engine: string | null }): string =>
  `The certificate of ${engine === null ? 'the service' : `the engine ${engine}`}`

/** The subjects and conditions of alerts. No text contains an age, because a changed text is stored again. */
export const alerts = {
  'alert_subject.node': ({ node }: AtNode) => node,
  'alert_subject.spider': nameOf,
  'alert_subject.error': ({ project, title }: { project: string; title: string }) => `${project}: ${title}`,
  'alert_subject.queue': () => 'The queue',
  'alert_subject.disk': () => 'The service’s disk',
  'alert_subject.certificate': certificateOf,
  'alert_subject.test': () => 'Scrapdeck',

  'alert.node_up': ({ node }: AtNode) => `${node} responds`,
  'alert.node_away': ({ problem, ...of }: AtNode & { health: NodeHealth; problem: Words | null }) =>
    `${nodeIs(of)}${problem === null ? '' : `: ${withoutStop(problem)}`}`,
  'alert.node_stuck': ({ node }: AtNode) => `${node} accepts jobs but starts none`,
  'alert.job_runs_long': ({ node, ...of }: OfSpider & AtNode) => `${nameOf(of)} is still running on ${node}`,
  'alert.job_ran_long': ({ node, ...of }: OfSpider & { node: string | null }) =>
    `${nameOf(of)} ran on ${node ?? 'a node'}`,
  'alert.job_waits_long': ({ waiting, ...of }: OfSpider & { waiting: Words }) => `${nameOf(of)} is waiting: ${waiting}`,
  'alert.job_waited_long': (of: OfSpider) => `${nameOf(of)} waited`,
  'alert.spider_succeeded': (of: OfSpider) => `${nameOf(of)} succeeded`,
  /** `hasMore`: the spider failed at least this many times. */
  'alert.spider_fails': (of: OfSpider & { isLost: boolean; times: number; hasMore: boolean; why: Words }) => {
    const times = of.times > 1 ? ` ${of.hasMore ? 'at least ' : ''}${of.times} times in a row` : ''
    return `${nameOf(of)} ${of.isLost ? 'was lost' : 'failed'}${times}: ${of.why}`
  },
  'alert.spider_items': ({ items, ...of }: OfSpider & { items: number }) =>
    `${nameOf(of)} scraped ${several(items, 'item')}`,
  'alert.spider_errors': ({ errors, ...of }: OfSpider & { errors: number }) =>
    `${nameOf(of)} logged ${several(errors, 'error')}`,
  'alert.spider_overdue': ({ hasSucceeded, ...of }: OfSpider & { hasSucceeded: boolean }) =>
    `${nameOf(of)} has not succeeded${hasSucceeded ? ' recently' : ' yet'}`,
  'alert.spider_was_overdue': ({ hours, ...of }: OfSpider & { hours: number }) =>
    `${nameOf(of)} had not succeeded for ${hours} h`,
  'alert.error_appears': (of: { project: string; title: string; culprit: string; isBack: boolean }) =>
    `${of.isBack ? 'A resolved error is back' : 'New error'} in ${of.project}: ${of.title} (${of.culprit})`,
  'alert.queue_length': ({ jobs }: { jobs: number }) => `${several(jobs, 'job')} waiting`,
  'alert.disk_free': ({ percent }: { percent: number }) => `${percent} % of the service’s disk is free`,
  'alert.certificate_expires': ({ endsMs, ...of }: { engine: string | null; endsMs: number }) =>
    `${certificateOf(of)} expires on ${utcDay(endsMs)}`,
  'alert.certificate_expired': ({ endsMs, ...of }: { engine: string | null; endsMs: number }) =>
    `${certificateOf(of)} expired on ${utcDay(endsMs)}`,
  'alert.problem': ({ title, text }: { title: Words; text: Words }) => `${title}: ${text}`,
  'alert.test': () => 'This is a test message from Scrapdeck. Nothing is wrong.',
  'alert.several': ({ alerts: count, first }: { alerts: number; first: Words }) => `${count} alerts: ${first}`
}

import type { Dependency, Job, JobId, Outcome } from '../contract/index.ts'
import { formatBytes } from '../format-bytes.ts'
import { describeTags } from '../tag-terms.ts'
import { formatDuration } from '../time.ts'
import { alerts } from './en-alerts.ts'
import { findings } from './en-findings.ts'
import { mails } from './en-mails.ts'
import { nodeErrors } from './en-node-errors.ts'
import { nodes } from './en-nodes.ts'
import { plugins } from './en-plugins.ts'
import { problems } from './en-problems.ts'
import { pythons } from './en-pythons.ts'
import { reasons } from './en-reasons.ts'
import { firings } from './en-schedules.ts'
import { sshProblems } from './en-ssh.ts'
import { namesErrors } from './errors/names.ts'
import { type AtNode, several, type Words, withoutStop, withStop } from './parts.ts'

type List = 'running' | 'pending' | 'finished'
/** Who did something; null: the owner of this machine, or Scrapdeck itself. */
interface By {
  by: string | null
}

const by = ({ by: name }: By): string => (name === null ? '' : ` by ${name}`)

const ENDED_AS: Record<Outcome, string> = {
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
  lost: 'Lost',
  unclear: 'Unclear'
}

const QUEUED: Record<Job['source'], string> = {
  ui: 'from the app',
  api: 'via API',
  scrapyd: 'via schedule.json',
  demo: 'by the demo',
  retry: 'as a retry',
  adopted: 'on the node',
  schedule: 'by its schedule',
  chain: 'by its chain',
  crawl: 'via the crawl API'
}

const RETURNED = {
  given_up: 'it was given up',
  lost: 'it was lost',
  cancelled: 'it was cancelled',
  not_accepted: 'it was not accepted',
  withdrawn: 'it was withdrawn',
  not_arrived: 'it had not arrived'
}

const UNWANTED = {
  cancelled: 'the job was cancelled',
  succeeded: 'the job has already succeeded',
  ended: 'the job has already ended',
  queued: 'the job is queued again'
}

/** These texts follow the name of a node. */
const UNAVAILABLE = {
  unknown: 'has not responded yet',
  down: 'does not respond',
  unauthorized: 'rejects the credentials',
  invalid: 'sends invalid responses',
  unlisted: 'has not listed its jobs yet',
  stuck: 'accepts jobs but starts none'
}
export type Unavailable = keyof typeof UNAVAILABLE

interface Where {
  only: string | null
  tags: readonly string[]
}

/** Follows a noun: ` of eu-1`, ` tagged eu`; empty if any node is meant. */
function ofNodes({ only, tags }: Where): string {
  if (only !== null) return ` of ${only}`
  return tags.length === 0 ? '' : ` ${describeTags(tags)}`
}

function runsOf(project: string | null, spider: string | null): string {
  if (spider !== null) return ` of ${project === null ? '' : `${project}/`}${spider}`
  return project === null ? '' : ` of project ${project}`
}

const inUtc = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`

const stopped = (run: string) => [
  `Asked ${run} to stop (INT)`,
  `Asked ${run} to stop immediately (second INT)`,
  `Killed ${run} (KILL)`
]

/** null: this reader is not allowed to see the job (`withoutJobs`). */
const another = (jobId: JobId | null): string => jobId ?? 'another job'

const aJob = (jobId: JobId | null): string => (jobId === null ? 'another job' : `job ${jobId}`)

/**
 * Every sentence that is stored or sent, by its code. A parameter named `jobId` is the id of a job that some readers
 * are not allowed to see. The parameters `chain` and `spider` are hidden together with the job.
 */
export const en = {
  /** External texts, and texts stored before codes existed. */
  text: ({ text }: { text: string }) => text,
  ...problems,
  ...alerts,
  ...findings,
  ...mails,
  ...firings,
  ...reasons,
  ...nodeErrors,
  ...nodes,
  ...plugins,
  ...pythons,
  ...sshProblems,
  ...namesErrors,

  'timeline.queued': ({ source, ...who }: By & { source: Job['source'] }) => `Queued ${QUEUED[source]}${by(who)}`,
  'timeline.queued_by_chain': (of: {
    jobId: JobId | null
    chain: string | null
    spider: string | null
    outcome: Outcome | null
  }) =>
    of.jobId === null ? 'Queued by a chain' : `Queued by the chain "${of.chain}": ${of.spider} ended as ${of.outcome}`,
  'timeline.order_changed': (who: By) => `Order changed${by(who)}`,
  'timeline.priority_set': ({ priority, ...who }: By & { priority: number }) => `Priority set to ${priority}${by(who)}`,
  'timeline.moved_to_front': (who: By) => `Moved to the front${by(who)}`,
  'timeline.moved_to_back': (who: By) => `Moved to the back${by(who)}`,
  'timeline.moved_before': ({ jobId, ...who }: By & { jobId: JobId | null }) =>
    `Moved before ${another(jobId)}${by(who)}`,
  'timeline.placed': ({ where, ...who }: By & { where: readonly string[] }) =>
    `May now run ${where.length === 0 ? 'on any node' : `only on ${where.join(', ')}`}${by(who)}`,
  'timeline.kept': (who: By) => `Kept: retention does not delete it${by(who)}`,
  'timeline.no_longer_kept': (who: By) => `No longer kept${by(who)}`,
  'timeline.restored': (who: By) => `Restored to the queue${by(who)}`,
  'timeline.cancelled_while_queued': (who: By) => `Cancelled while queued${by(who)}`,
  'timeline.cancel_requested': (who: By) => `Cancel requested${by(who)}`,
  'timeline.cancel_requested_by_signal': ({ signal, ...who }: By & { signal: string | number }) =>
    `Cancel requested (${signal})${by(who)}`,
  'timeline.immediate_stop_requested': (who: By) => `Immediate stop requested${by(who)}`,

  'timeline.adopted': ({ node }: AtNode) => `Adopted: started outside Scrapdeck on ${node}`,
  'timeline.seen_on_node': ({ list, node }: AtNode & { list: List }) => `Seen ${list} on ${node}`,
  'timeline.accepted_before': ({ node }: AtNode) => `${node} had accepted it`,
  'timeline.imported_from_history': () => "Imported from Scrapyd's history",
  'timeline.imported_from_queue': () => "Imported from Scrapyd's queue",
  'timeline.ran_in_scrapyd': () => 'Ran in Scrapyd',
  'timeline.ended_in_scrapyd': ({ reason }: { reason: Words }) => `Ended: ${reason}`,

  'timeline.skipped': ({ jobId, outcome }: { jobId: JobId | null; outcome: Outcome }) =>
    `Skipped: ${another(jobId)} ended as ${outcome}`,
  'timeline.expired': () => 'Expired: it could not be sent before its deadline',
  'timeline.cancelled_before_retry': () => 'Cancelled: its cancellation was requested earlier, so it is not sent again',
  'timeline.dependencies_met': () => 'The jobs it waited for have ended',
  'timeline.retry_delay_over': () => 'The retry delay is over',
  'timeline.start_time_reached': () => 'Its start time was reached',
  'timeline.previous_run_ended': () => 'The previous run of this spider has ended',
  'timeline.next_after_placement': () =>
    'No run of this spider is live, and the job ahead of it was moved to other nodes',
  'timeline.egg_not_importable': ({ version, error }: { version: string; error: string }) =>
    `Failed: no node can import version ${version}: ${error}`,

  'timeline.sent': ({ node }: AtNode) => `Sent to ${node}`,
  'timeline.cancelled_by_plugin': ({ plugin, why }: { plugin: string; why: Words }) =>
    `Cancelled by the plugin ${plugin}: ${why}`,
  'timeline.held_by_plugin': ({ plugin, why }: { plugin: string; why: Words }) =>
    `Held by the plugin ${plugin}: ${why}`,
  'timeline.cancelled_before_sending': () => 'Cancelled before it was sent',
  'timeline.not_sent_without_lead': () => 'Not sent: this engine was not certain that it was still the leader',
  'timeline.accepted': () => 'Accepted',
  'timeline.not_accepted': ({ error }: { error: Words }) => `Not accepted: ${error}`,
  'timeline.failed': ({ error }: { error: Words }) => `Failed: ${error}`,
  'timeline.no_response': ({ error }: { error: Words }) =>
    `No response; checking whether the job reached the node (${error})`,
  'timeline.interrupted_sending': () => 'Scrapdeck stopped while sending the job; checking whether it reached the node',

  'timeline.accepted_in_queue': () => 'Accepted: seen in its queue',
  'timeline.running': ({ pid }: { pid: number | null }) => (pid === null ? 'Running' : `Running, pid ${pid}`),
  'timeline.ended_on_node': () => 'Ended on the node; reading its log',
  'timeline.held_open': () =>
    'The spider has ended; something that it started keeps the node’s process open. Reading its log',
  'timeline.log_complete': ({ node }: AtNode) => `${node} no longer lists the job; its log is complete`,
  'timeline.vanished': ({ node }: AtNode) =>
    `${node} no longer lists the job (did the node restart?); watching its log`,
  'timeline.listed_twice': ({ node, because }: AtNode & { because: string }) =>
    `${node} lists the job twice because ${because}`,
  'timeline.never_arrived': ({ node }: AtNode) => `The job never reached ${node}; queued again`,
  'timeline.perhaps_forgotten': ({ node }: AtNode) =>
    `The job is not on ${node}, which may have forgotten it; queued again and flagged`,

  'timeline.ended': ({ outcome, reason }: { outcome: Outcome; reason: Words }) => `${ENDED_AS[outcome]}: ${reason}`,
  'timeline.lost_log_refused': ({ node, error }: AtNode & { error: Words }) =>
    `Lost: ${node} no longer lists the job and does not return its log (${withoutStop(error)})`,
  'timeline.cancelled_on_node': ({ node }: AtNode) => `Cancelled: ${node} no longer knows the job and has no log of it`,
  'timeline.lost_without_log': ({ node }: AtNode) =>
    `Lost: ${node} accepted the job, but no longer knows it and has no log of it`,
  'timeline.lost_to_other_node': ({ node, holder }: AtNode & { holder: string }) =>
    `Lost: it was sent to ${node}, and ${holder} has it. Do these two nodes share a queue? Give each its own dbs_dir`,
  'timeline.lost_silent_log': ({ node }: AtNode) =>
    `Lost: ${node} forgot the job, and its log has not grown for a minute`,
  'timeline.lost_local_node_off': () => 'Lost: the node on this computer is turned off',
  'timeline.lost_node_missing': () => 'Lost: its node is no longer in the fleet',
  'timeline.lost_node_removed': () => 'Lost: its node was removed from the fleet',
  'timeline.lost_node_silent': ({ node, seconds }: AtNode & { seconds: number }) =>
    `Lost: the run ended on ${node}, which has not responded for ${formatDuration(seconds)}, so its log could not be read`,
  'timeline.and_next': ({ what, next }: { what: Words; next: Words }) => `${what}; ${next}`,
  'next.retry': ({ seconds, run, runs }: { seconds: number; run: number; runs: number }) =>
    `retrying ${seconds < 1 ? 'immediately' : `in ${formatDuration(Math.round(seconds))}`} (run ${run} of ${runs})`,
  'next.queued_and_flagged': () => 'queued again and flagged',
  'next.queued_as_it_may_run': () => 'queued again and flagged, because it may still be running there',
  'timeline.given_up_silent': ({ node, seconds }: AtNode & { seconds: number }) =>
    `Given up: ${node} has not responded for ${formatDuration(seconds)}`,
  'timeline.given_up_by_operator': ({ node }: AtNode) => `Given up by an operator: ${node} does not respond`,
  'timeline.given_up_address_changed': ({ node }: AtNode) =>
    `Given up: the address of ${node} was changed while it was being sent there`,
  'timeline.log_kept': ({ bytes, because }: { bytes: number; because: Words }) =>
    `Only the copied part of the log is kept (${formatBytes(bytes)}): ${because}`,
  'log_cut.node_removed': () => 'its node was removed',
  'log_cut.node_silent': ({ node }: AtNode) => `${node} does not respond`,
  'log_cut.deleted': ({ node }: AtNode) => `${node} no longer has it`,
  'log_cut.shortened': ({ node }: AtNode) => `${node} lost part of it`,
  'log_cut.too_large': () => 'it reached the size limit for one log',

  'timeline.stop_step': ({ step }: { step: number }) => stopped('the run')[step] ?? '',
  'timeline.stop_step_of_returned': ({ step }: { step: number }) => stopped('the returned run')[step] ?? '',
  'timeline.signal_sent': ({ signal }: { signal: string | number }) => `Sent signal ${signal}`,
  'timeline.already_ended': ({ signal }: { signal: string | number }) =>
    `Not stopped (${signal}): the node reports that the process of the run has already ended`,
  'timeline.removed_from_node': () => 'Cancelled: the node removed it from its queue',
  'timeline.limit_exceeded': ({ limit }: { limit: Words }) => `Exceeded its ${limit}; stopping it`,

  'timeline.withdrawing': ({ node, seconds }: AtNode & { seconds: number }) =>
    `Withdrawing the job: ${node} accepts jobs but starts none; this one has waited there for ${formatDuration(seconds)}`,
  'timeline.withdrawn': ({ node }: AtNode) => `Withdrawn: ${node} had not started the job; queued again`,
  'timeline.not_withdrawn': ({ node }: AtNode) => `Not withdrawn: the job is no longer in the queue of ${node}`,

  'timeline.found_again': ({ node, list, was }: AtNode & { list: List; was: keyof typeof RETURNED }) =>
    `Found again on ${node} (${list}), where ${RETURNED[was]}: it continues there`,
  'timeline.seen_elsewhere': ({ node, list, sentTo }: AtNode & { list: List; sentTo: string }) =>
    `Seen on ${node} (${list}), though it was sent to ${sentTo}. Do these two nodes share a queue?`,
  'timeline.seen_again': (of: AtNode & { list: List; was: keyof typeof RETURNED; rest: Words }) =>
    `Seen again on ${of.node} (${of.list}), where ${RETURNED[of.was]}: ${of.rest}`,
  'returned.ended': () => 'it had ended there',
  'returned.left_running': () => 'it is left running there',
  'returned.stopped': ({ because }: { because: keyof typeof UNWANTED }) =>
    `it is stopped there because ${UNWANTED[because]}`,
  'returned.stopped_for_run': ({ run }: { run: number }) =>
    `it is stopped there because run ${run} of the job continues`,
  'timeline.returned_run_removed': () => 'Removed the returned run from the node’s queue',

  'chain.failed': ({ error, jobId }: { error: string; jobId: JobId | null }) =>
    `${withStop(error)} (after ${aJob(jobId)})`,

  'waiting.next_in_line': () => 'next in queue',
  'waiting.paused': () => 'the queue is paused',
  'waiting.project_paused': ({ project }: { project: string }) => `${project} is paused`,
  'waiting.version_missing': ({ project, version }: { project: string; version: string | null }) =>
    version === null
      ? `${project} has no active version: upload one, or pin another`
      : `version ${version} of ${project} is gone; upload it again`,
  'waiting.no_nodes': () => 'there are no nodes; add one under Nodes',
  'waiting.no_matching_node': ({ only, tags }: Where) =>
    only === null
      ? `no node is ${describeTags(tags)}`
      : 'its node was removed or has different tags; run the job again on another node',
  /** `matching`: how many nodes could run the job; `node`: that node, if there is only one. */
  'waiting.nodes_cordoned': ({ node, matching, ...where }: Where & { node: string | null; matching: number }) =>
    `${matching === 1 ? node : `every node${ofNodes(where)} that could run the job`} is cordoned`,
  /** `down`: how many of the matching nodes are not cordoned. `node` and `why` are null if the text names no node. */
  'waiting.nodes_down': (
    of: Where & { matching: number; down: number; node: string | null; why: Unavailable | null }
  ) => {
    const { node, matching, down, why, ...where } = of
    if (why === null) return `none of the ${down} nodes${ofNodes(where)} can take jobs now`
    const first = `${node} ${UNAVAILABLE[why]}`
    return matching === 1 ? first : `${first}, and the other nodes${ofNodes(where)} are down or cordoned as well`
  },
  'waiting.python_not_ready': (of: Where & AtNode & { matching: number; why: Words }) => {
    const { node, matching, why, ...where } = of
    return `${node} ${why}${matching === 1 ? '' : `, and no other node${ofNodes(where)} can take it`}`
  },
  /**
   * `held`: the number of slots in use by processes whose spiders have ended. `version`: if set, only slots on nodes
   * with this version count.
   */
  'waiting.all_slots_busy': (of: Where & { slots: number; held: number; version: string | null }) => {
    const { slots, held, version, ...where } = of
    if (version !== null) return `all slots with version ${version} are busy`
    const busy = slots === 1 ? `the slot${ofNodes(where)} is busy` : `all ${slots} slots${ofNodes(where)} are busy`
    const inThem = slots === 1 ? 'in it' : `in ${held} of them`
    return held === 0
      ? busy
      : `${busy}; ${inThem}, a spider has ended, but something that it started keeps its process open`
  },
  'waiting.egg_on_its_way': ({ version, node, refused }: AtNode & { version: string; refused: Words | null }) =>
    `version ${version} is being sent to ${node}${refused === null ? '' : `; ${refused}`}`,
  'waiting.egg_refused': ({ version, refused }: { version: string; refused: Words | null }) =>
    refused ?? `no available node has version ${version}, and it could not be sent; see Projects`,
  'egg.not_importable': ({
    node,
    others,
    version,
    error
  }: AtNode & { others: number; version: string; error: string }) =>
    `${others === 0 ? node : `${node} and ${others} more`} cannot import version ${version}: ${error}`,
  'waiting.node_refused': ({ node }: AtNode) => `${node} refused the job; retrying soon`,
  'waiting.limit': ({ limit }: { limit: Words }) => limit,
  'limit.none_may_start': (of: { project: string | null; spider: string | null; tag: string | null }) => {
    const where = of.tag === null ? '' : ` on nodes tagged ${of.tag}`
    return `no run${runsOf(of.project, of.spider)} may start${where}: the limit is 0`
  },
  'limit.reached': (of: {
    project: string | null
    spider: string | null
    tag: string | null
    perNode: boolean
    live: number
    max: number
  }) => {
    const { project, spider, tag, perNode, live, max } = of
    const tagged = tag === null ? '' : ` tagged ${tag}`
    const where = perNode ? ` on each node${tagged} with a free slot` : tag === null ? '' : ` on nodes${tagged}`
    return `the limit of ${several(max, 'run')}${runsOf(project, spider)} is reached${where} (${live} live)`
  },
  'limit.logs_kept': ({ node, logs, spider }: AtNode & { logs: number; spider: string }) =>
    `${node} keeps ${logs === 1 ? '1 log' : `${logs} logs`} of a spider: another run of ${spider} would delete the log of a running one`,
  'waiting.pending_on_node': ({ node, why }: AtNode & { why: Words }) => `pending on ${node}: ${why}`,
  'waiting.overlap': ({ spider }: { spider: string }) =>
    `waits until the run of ${spider} with the same arguments ends`,
  'waiting.dependency': (of: { jobId: JobId | null; on: Dependency['on']; others: number }) => {
    const more = of.others === 0 ? '' : `, and for ${of.others} more`
    return `waits until ${aJob(of.jobId)} has ${of.on}${more}`
  },
  'waiting.not_before': ({ untilMs }: { untilMs: number | null }) =>
    untilMs === null ? 'not before its start time' : `not before ${inUtc(untilMs)}`,
  'waiting.retry_wait': ({ untilMs }: { untilMs: number | null }) =>
    untilMs === null ? 'retry later' : `retry at ${inUtc(untilMs)}`
}

import { formatAge, formatDuration } from '../time.ts'
import { type AtNode, countOf, gigabytes, several, type Words, withoutStop } from './parts.ts'

/** These texts follow the name of a node. */
const AWAY = {
  unknown: '',
  up: '',
  down: 'is down',
  unauthorized: 'rejects the credentials',
  invalid: 'sends invalid responses'
}
export type NodeHealth = keyof typeof AWAY

export const nodeIs = ({ node, health }: AtNode & { health: NodeHealth }): string => `${node} ${AWAY[health]}`

const CHANNEL_IS = {
  failing: 'cannot deliver its messages',
  given_up: 'gave up on messages',
  gone: 'was turned off by its receiver'
}
const CHANNEL_ADVICE = {
  failing: 'Its messages are retried for three days. Correct the channel or its receiver, then test it',
  given_up: 'They will not be sent again. Correct the channel or its receiver, then test it',
  gone: 'It gets no more messages. Enter its new address and turn it on, or remove it from the rules'
}

interface OfSpider {
  project: string
  spider: string
}
interface Disk {
  freeBytes: number
  totalBytes: number
}

const storageAdvice = ({ isPolicySet }: { isPolicySet: boolean }): string =>
  isPolicySet ? 'Shorten the retention, or free space' : 'Set a retention policy, or free space'

const freeOf = ({ freeBytes, totalBytes }: Disk): string =>
  `${gigabytes(freeBytes)} of ${gigabytes(totalBytes)} is free`

export const problems = {
  'problem_title.node_away': nodeIs,
  'problem.node_away': (of: {
    problem: Words
    seenAgoMs: number | null
    jobs: number
    giveUpAfterSeconds: number | null
  }) => {
    const since = of.seenAgoMs === null ? '' : `; last seen ${formatAge(of.seenAgoMs)} ago`
    const jobs = `; ${of.jobs === 1 ? '1 job on this node is' : `${of.jobs} jobs on this node are`} in an unknown state until it responds`
    const end =
      of.giveUpAfterSeconds === null
        ? ''
        : `, or until Scrapdeck gives up on it after ${formatDuration(of.giveUpAfterSeconds)}`
    return `${withoutStop(of.problem)}${since}${of.jobs === 0 ? '' : `${jobs}${end}`}`
  },
  'problem_title.node_stuck': ({ node }: AtNode) => `${node} is stuck`,
  'problem.node_stuck': ({ forMs }: { forMs: number }) =>
    `it accepts jobs but has started none for ${formatAge(forMs)}. Its queued jobs are withdrawn, and it gets one test job from time to time. Restart Scrapyd there, or cordon the node`,
  'problem_title.node_excess': ({ node }: AtNode) => `${node} lists more than Scrapdeck reads`,
  /** `external`: how many of the listed jobs Scrapdeck did not start; null: the UI shows all of these jobs. */
  'problem.node_excess': ({
    excess,
    external,
    shown
  }: {
    excess: Words | null
    external: number | null
    shown: number
  }) =>
    [
      ...(excess === null ? [] : [`it lists ${excess}; the rest is used`]),
      ...(external === null
        ? []
        : [`it lists ${countOf(external)} jobs that Scrapdeck did not start; the first ${countOf(shown)} are shown`])
    ].join('; '),
  'problem_title.engine_not_ready': ({ node }: AtNode) => `${node} cannot run spiders yet`,
  'problem.engine_not_ready': ({ node, why }: AtNode & { why: Words }) => `${node} ${why}`,

  'problem_title.python_missing': () => 'The local node cannot run spiders yet',
  'problem.python_missing': () => 'Python with Scrapy was not found',
  'problem_title.python_not_built': ({ project }: { project: string }) => `${project} has no Python on this computer`,
  'problem_title.python_not_rebuilt': ({ project }: { project: string }) =>
    `The Python environment of ${project} could not be rebuilt`,
  'problem.python_not_built': () => 'The build failed',
  'problem_title.not_apart': () => 'Spiders are not isolated',
  'problem.not_apart': ({ why }: { why: Words }) =>
    `Spiders on the local node run with all of Scrapdeck’s permissions (keep_spiders_apart = if-possible): ${withoutStop(why)}. Run no code here that you do not trust, or set keep_spiders_apart = off if this is intended`,

  'problem_title.queue_paused': () => 'The queue is paused',
  'problem.queue_paused': ({ jobs }: { jobs: number }) =>
    `${countOf(jobs)} ${jobs === 1 ? 'job waits' : 'jobs wait'}; no job is sent until you resume`,
  'problem_title.long_wait': ({ jobs, project }: { jobs: number; project: string }) =>
    `${several(jobs, 'job')} of ${project} cannot be sent`,
  'problem.long_wait': ({ waiting, queuedAgoMs }: { waiting: Words; queuedAgoMs: number }) =>
    `${waiting}; queued ${formatAge(queuedAgoMs)} ago and needs attention`,
  'problem_title.spider_fails': ({ project, spider, isLost }: OfSpider & { isLost: boolean }) =>
    `${project}/${spider} ${isLost ? 'was lost' : 'failed'}`,
  'problem.spider_fails': ({ times, why }: { times: number; why: Words }) =>
    `${times === 1 ? 'once' : `${times} times`} in the last 24 hours; last error: ${why}`,
  'problem_title.run_unusual': ({ project, spider }: OfSpider) =>
    `${project}/${spider} succeeded, but its run was unusual`,
  'problem_title.versions_disagree': ({ project }: { project: string }) =>
    `Nodes disagree on the latest version of ${project}`,

  'problem_title.source_fails': ({ source }: { source: string }) => `The node source ${source} has a problem`,
  'problem_title.nodes_vanished': ({ source, nodes }: { source: string; nodes: number }) =>
    `${source} no longer lists ${nodes === 1 ? 'a node' : `${nodes} nodes`}`,
  'problem.nodes_vanished': ({ nodes }: { nodes: number }) =>
    nodes === 1
      ? 'It is cordoned and gets jobs again once the source lists it. Remove it if it is gone for good.'
      : 'They are cordoned and get jobs again once the source lists them. Remove them if they are gone for good.',

  'problem_title.engine_names': ({ engines, name }: { engines: number; name: string }) =>
    `${engines} engines are named ${name}`,
  'problem.engine_names': ({ addresses }: { addresses: readonly string[] }) =>
    `They run at ${addresses.join(', ')}, and only the one started last has a local node in the fleet. Set a different engine_name on each`,
  'problem_title.plain_http': () => 'The service is reachable over plain HTTP',
  'problem.plain_http': ({ address }: { address: string }) =>
    `It listens on ${address} without TLS, so passwords and sessions can be intercepted. Set tls_certificate and tls_key, or put a proxy with TLS in front and set behind_proxy`,
  'problem_title.role_missing': ({ role }: { role: string }) => `The role ${role} does not exist`,
  'problem.role_missing': ({ options }: { options: readonly string[] }) =>
    `${options.join(' and ')} assigns it to groups, so their members get no permissions. Create it under Users & access, or correct the option`,
  'problem_title.syslog_away': () => 'The audit log cannot be sent to the syslog server',
  'problem.syslog_away': ({ address, reason }: { address: string; reason: string }) =>
    `${address}: ${withoutStop(reason)}. Entries are kept here and sent when the server is back. Check that it is running, and check audit_syslog`,
  'problem_title.cache_away': () => 'The shared cache is unavailable',
  'problem.cache_away': ({ name, reason }: { name: string; reason: string }) =>
    `${name}: ${withoutStop(reason)}. Until it is back, this engine counts rate limits on its own, accepts the sessions that it knows, and responds without the cache`,
  'problem_title.heartbeat': () => 'The heartbeat cannot be delivered',
  'problem.heartbeat': ({ reason }: { reason: string }) =>
    `${reason}. Correct life_url, or the receiver will report that Scrapdeck is down`,

  'problem_title.blobs_away': () => 'The storage of eggs and logs cannot be used',
  'problem.blobs_away': ({ reason }: { reason: string }) =>
    `${withoutStop(reason)}. Until it works again, uploads fail, ended runs wait for their logs to be archived, and archived logs cannot be read`,
  'problem_title.blobs_full': () => 'The storage of eggs and logs is almost full',
  'problem.blobs_full': ({ place, ...disk }: Disk & { place: string }) =>
    `${freeOf(disk)} at ${place}. Free space there, or shorten the retention`,
  'problem_title.blobs_differ': () => 'Engines keep eggs and logs in different places',
  'problem.blobs_differ': ({ places }: { places: readonly string[] }) =>
    `${places.join('; ')}. Files that one engine stored are missing while another leads. Set the same blobs option on all engines`,

  'problem_title.disk_full': () => 'The disk is almost full',
  'problem.disk_full': (of: Disk & { isPolicySet: boolean }) =>
    `${freeOf(of)} in the data directory. ${storageAdvice(of)}`,
  'problem_title.disk_fills': () => 'The disk will be full within a day',
  'problem.disk_fills': (of: { freeBytes: number; leftMs: number; isPolicySet: boolean }) =>
    `${gigabytes(of.freeBytes)} is free; at the current rate, the disk will be full in about ${formatAge(of.leftMs)}. ${storageAdvice(of)}`,
  'problem_title.budget_used': ({ isOver }: { isOver: boolean }) =>
    `The disk budget is ${isOver ? '' : 'almost '}used up`,
  'problem.budget_used': (of: { usedBytes: number; budgetBytes: number; isPolicySet: boolean }) =>
    `${gigabytes(of.usedBytes)} of the budget of ${gigabytes(of.budgetBytes)} is used. ${storageAdvice(of)}`,
  'problem_title.not_encrypted': () => 'Not all stored files are encrypted with the newest key',
  'problem.not_encrypted': ({ files, keyId, why }: { files: number; keyId: string; why: string }) =>
    `${files === 1 ? 'A stored file' : `${files} stored files`} could not be encrypted with the key ${keyId} yet: ${why} Keep the earlier keys`,
  'problem_title.no_policy': () => 'No retention policy is set',
  'problem.no_policy': ({ bytes }: { bytes: number }) =>
    `Scrapdeck's data takes ${gigabytes(bytes)}, and nothing is ever deleted. Set a retention policy`,

  'problem_title.channel_fails': ({ channel, state }: { channel: string; state: keyof typeof CHANNEL_IS }) =>
    `The alert channel ${channel} ${CHANNEL_IS[state]}`,
  'problem.channel_fails': (of: {
    answer: string
    state: keyof typeof CHANNEL_ADVICE
    isReportedElsewhere: boolean
  }) => {
    const alone =
      '. No other channel reports this: add a rule that watches the service itself and names another channel'
    return `${withoutStop(of.answer)}. ${CHANNEL_ADVICE[of.state]}${of.isReportedElsewhere ? '' : alone}`
  },
  'problem_title.plugin_without_channel': ({ plugin }: { plugin: string }) => `The plugin ${plugin} receives no alerts`,
  'problem.plugin_without_channel': () =>
    'No alert channel that is turned on uses it. Add a channel of the kind Plugin, and choose it in a rule',

  'problem_title.schedule_refused': ({ schedule }: { schedule: string }) => `${schedule} could not create jobs`,
  /** `agoMs` is null if the text must not change merely because time passes. */
  'problem.schedule_refused': ({ firing, agoMs }: { firing: Words; agoMs: number | null }) =>
    `${withoutStop(firing)}${agoMs === null ? '' : `; ${formatAge(agoMs)} ago`}`,
  'problem_title.chain_refused': ({ chain }: { chain: string }) => `The chain ${chain} could not create a job`,
  'problem_title.schedule_paused': ({ schedule }: { schedule: string }) => `${schedule} was paused`,
  /** `failures`: the number of consecutive failures; 0: unknown. */
  'problem.schedule_paused': ({ failures }: { failures: number }) =>
    `${failures > 0 ? `its last ${failures}` : 'too many of its'} runs failed; fix the cause, then resume it`,
  'problem.schedule_invalid': () => 'its rules can no longer be read; correct them, then resume it',
  'problem_title.schedule_missed': ({ schedule, runs }: { schedule: string; runs: number }) =>
    `${schedule} missed ${runs === 1 ? 'a run' : several(runs, 'run')}`,
  'problem.schedule_missed': ({ firing }: { firing: Words }) => `in the last 24 hours; most recently: ${firing}`,
  'problem_title.schedules_late': () => 'Schedules do not fire',
  'problem.schedules_late': () =>
    'a schedule has been due for minutes and has not fired; the log of the service says why',
  'problem_title.schedule_names': ({ schedules, name }: { schedules: number; name: string }) =>
    `${schedules} schedules are called ${name}`,
  'problem.schedule_names': () => 'each of them creates its jobs. Names are unique now: rename or remove all but one'
}

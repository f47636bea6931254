import type { OutcomeRules, ProjectSettings } from './contract/index.ts'

/**
 * Why runs end: a word for each reason and its meaning. The reason of a job stays its key; `zyte` is the outcome that
 * Scrapy Cloud shows in the same case (Zyte's help, "Understanding job outcomes").
 */
export interface OutcomeReason {
  label: string
  text: string
  zyte: string | null
}

type Entry = readonly [reason: string | RegExp, label: string, zyte: string | null, text: string]

/** The first entry that matches applies. */
const REASONS: readonly Entry[] = [
  ['finished', 'Finished', 'finished', 'The spider did all its work and closed. It may have logged errors.'],
  ['closespider_itemcount', 'Item limit', 'closespider_itemcount', 'CLOSESPIDER_ITEMCOUNT was reached: enough items.'],
  ['closespider_pagecount', 'Page limit', 'closespider_pagecount', 'CLOSESPIDER_PAGECOUNT was reached: enough pages.'],
  ['closespider_timeout', 'Time limit', 'closespider_timeout', 'CLOSESPIDER_TIMEOUT was reached: Scrapy closed it.'],
  [
    'closespider_timeout_no_item',
    'No items',
    'closespider_timeout_no_item',
    'No item for as long as CLOSESPIDER_TIMEOUT_NO_ITEM allows.'
  ],
  ['closespider_errorcount', 'Too many errors', 'closespider_errorcount', 'CLOSESPIDER_ERRORCOUNT was reached.'],
  [
    'memusage_exceeded',
    'Memory exceeded',
    'memusage_exceeded',
    'Scrapy’s memory usage extension closed the spider: it used more than MEMUSAGE_LIMIT_MB.'
  ],
  [
    'shutdown',
    'Shut down',
    'shutdown',
    'A signal stopped the spider: a cancel, or if none was requested, the machine or another user.'
  ],
  ['cancelled', 'Cancelled', 'cancelled', 'The spider was closed before its work was done.'],
  ['cancelled before it started', 'Cancelled', 'cancelled', 'The job was cancelled before its spider had begun.'],
  ['no_reason', 'No reason', 'no_reason', 'The spider closed without saying why.'],
  [/^(progress|silence) limit /, 'Stalled', 'cancelled (stalled)', 'The run stood still for too long and was stopped.'],
  [/^wall time limit /, 'Time exceeded', 'cancelled (24h limit)', 'The run took longer than it may and was stopped.'],
  [/^memory limit /, 'Memory exceeded', 'memusage_exceeded', 'The run used more memory than it may and was stopped.'],
  [/^error limit /, 'Too many errors', null, 'The run logged more errors than it may and was stopped.'],
  [
    /^ban limit /,
    'Banned',
    'banned',
    'Too many responses were 403, 429 or 503: the website blocks the spider, so the run was stopped.'
  ],
  [/^(CPU time|log size) limit /, 'Limit exceeded', null, 'The run used more than it may and was stopped.'],
  [
    'no response at all',
    'No response',
    null,
    'Every request failed before any response (DNS, connection refused, TLS), and nothing was scraped.'
  ],
  [/^errors above /, 'Too many errors', null, 'The run finished, but with more errors than the project allows.'],
  [/^items below /, 'Few items', 'slybot_fewitems_scraped', 'The run finished, but with too few items.'],
  [/^pages below /, 'Few pages', null, 'The run finished, but with too few pages.'],
  [/^finish reason /, 'Other finish reason', null, 'The project does not count this finish_reason as success.'],
  [
    /^out of memory|^killed by SIGKILL$/,
    'Killed',
    'killed by oom',
    'The process was killed: usually because the machine ran out of memory, or because it ignored a stop.'
  ],
  [/^killed by /, 'Killed', null, 'A signal ended the process.'],
  [
    /^exit code 0$/,
    'Finished',
    'finished',
    'The process ended without an error. Its log level hides its finish_reason.'
  ],
  [/^exit code /, 'Failed', 'failed', 'The process ended with an error, usually one in the code of the spider.'],
  [
    'ended without closing stats',
    'Failed',
    'failed',
    'The log ends in the middle: the process was killed, or the spider failed to start.'
  ],
  [
    'end not visible in the log',
    'Quiet log',
    null,
    'The run ended. How is not visible in its log, because its log level hides it: with LOG_LEVEL=INFO, it is.'
  ],
  [
    'log refused',
    'Log refused',
    null,
    'The run ended, but its node does not return its log; the timeline has the answer of the node.'
  ],
  [
    'log not read whole',
    'Log not read',
    null,
    'The run ended, but the part of its log that would say how was not read: its node deleted or refused it.'
  ],
  ['no log', 'No log', 'failed', 'The node has no log of the run: usually it failed before Scrapy started.'],
  ['expired', 'Expired', null, 'The job was not sent before its time ran out.']
]

/** null: the spider's own reason. */
export function explainReason(reason: string): OutcomeReason | null {
  const entry = REASONS.find(([key]) => (typeof key === 'string' ? key === reason : key.test(reason)))
  if (entry === undefined) return null
  const [, label, zyte, text] = entry
  return { label, zyte, text }
}

/** The rules for a spider: its own over those of its project, rule by rule. null: there are none. */
export function outcomeRulesOf(
  { outcome, spiderOutcomes }: Partial<Pick<ProjectSettings, 'outcome' | 'spiderOutcomes'>>,
  spider: string
): OutcomeRules | null {
  // Names of Object properties are not spiders.
  const ofSpider = spiderOutcomes !== undefined && Object.hasOwn(spiderOutcomes, spider) ? spiderOutcomes[spider] : null
  const given = Object.entries(ofSpider ?? {}).filter(([, value]) => value !== undefined)
  const rules: OutcomeRules = { ...outcome, ...Object.fromEntries(given) }
  return Object.values(rules).some((value) => value != null && value !== false) ? rules : null
}

/** `more than 10 errors, fewer than 100 items`; null: no rule. */
export function describeOutcomeRules(rules: OutcomeRules | null): string | null {
  if (rules === null) return null
  const { requireResponse, maxErrors, minItems, minPages, finishReasons } = rules
  const words = [
    ...(requireResponse === true ? ['no response at all'] : []),
    ...(maxErrors == null ? [] : [`errors above ${maxErrors}`]),
    ...(minItems == null ? [] : [`items below ${minItems}`]),
    ...(minPages == null ? [] : [`pages below ${minPages}`]),
    ...(finishReasons == null ? [] : [`finish reason other than ${finishReasons.join(', ')}`])
  ]
  return words.length === 0 ? null : words.join(', ')
}

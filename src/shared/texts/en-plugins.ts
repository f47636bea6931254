import type { Words } from './parts.ts'

/** What is wrong with a plugin. */
export const plugins = {
  'plugin.problem': ({ plugin, problem }: { plugin: string; problem: Words }) => `The plugin ${plugin} ${problem}`,
  'plugin.unusable': ({ why }: { why: Words }) => `${why}.`,
  'plugin.same_hook': ({ plugins: names, hook }: { plugins: readonly string[]; hook: string }) =>
    `The plugins ${names.join(' and ')} both have ${hook}, and only one may. Remove one of them from the configuration`,
  'plugin.not_an_answer': ({ most }: { most: number }) =>
    `its answer is not one of: nothing, { args, settings } whose values are texts or null, { veto: 'why', retryAfterSeconds: 1 to ${most} } or { cancel: 'why' }`,

  /** These follow the name of the plugin. `problem` and `why` are the plugin's own texts. */
  'plugin_problem.not_running': () => 'is not running',
  'plugin_problem.late': ({ seconds, call }: { seconds: number; call: string }) =>
    `took longer than ${seconds} s for ${call} and was stopped`,
  'plugin_problem.not_callable': ({ why }: { why: string }) => `could not be called: ${why}`,
  'plugin_problem.stopped': () => 'was stopped',
  'plugin_problem.restarts': ({ seconds }: { seconds: number }) => `failed and restarts in ${seconds} s`,
  'plugin_problem.not_ready': ({ seconds }: { seconds: number }) => `was not ready within ${seconds} s`,
  'plugin_problem.refused': ({ problem }: { problem: string }) => `cannot be used: ${problem}`,
  'plugin_problem.failed': ({ problem }: { problem: string }) => `failed: ${problem}`,
  'plugin_problem.died': ({ why }: { why: string }) => `died: ${why}`,
  'plugin_problem.ended_itself': () => 'ended itself',
  'plugin_problem.ended_early': () => 'ended before it created a plugin: it called exit, or its promise never resolves',

  /** Why a plugin that chooses nodes has no say in where a job runs. */
  'choice.late': ({ seconds }: { seconds: number }) => `it did not answer within ${seconds} s`,
  'choice.not_an_answer': () => 'its answer is not { [job id]: node id or { node, why } }',
  'choice.node_full': () => 'the node that it chose cannot take this job now',
  'choice.no_reason': () => 'it gave no reason'
}

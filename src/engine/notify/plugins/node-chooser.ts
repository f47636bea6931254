import { z } from 'zod'
import { mapStrings, type Message, render, say } from '../../../shared/texts/message.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { type Clock, within } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { NodeQuestion } from './plugin.ts'
import { PluginError, type PluginThread } from './plugin-thread.ts'

const ANSWER_WITHIN_MS = 100
const PAUSE_MS = 10_000

export const Words = z.string().transform((text) => showUnseen(text.slice(0, 500).toWellFormed()))
const Choice = z
  .union([z.string().transform((node) => ({ node })), z.strictObject({ node: z.string(), why: Words.optional() })])
  .transform(({ node, why }: { node: string; why?: string | undefined }) => ({
    node,
    why: why ?? say('choice.no_reason')
  }))
const Choices = z.record(z.string(), Choice.nullish()).nullish()

export interface NodeChoices {
  plugin: string
  byJob: ReadonlyMap<string, z.output<typeof Choice> | null | undefined>
  /** Why the plugin was not called, or what was wrong with its result. null: no problem. */
  problem: Message | string | null
}

/**
 * Creates a function that asks a plugin to choose nodes for jobs. It never rejects and waits only briefly. After a late
 * or invalid result, it does not ask the plugin again for a while. Only the plugin's own timeout ends its thread.
 */
export function createNodeChooser(thread: PluginThread, { clock, logger }: { clock: Clock; logger: Logger }) {
  const { name: plugin } = thread.settings
  let isAsking = false
  let notBeforeMs = 0
  let problem: Message | string = ''

  async function ask(questions: NodeQuestion[]): Promise<unknown> {
    isAsking = true
    const answer = thread.call('chooseNode', [questions]).finally(() => {
      isAsking = false
    })
    return within(clock, ANSWER_WITHIN_MS, answer, () => {
      throw new PluginError(say('choice.late', { seconds: ANSWER_WITHIN_MS / 1000 }))
    })
  }

  return async (questions: NodeQuestion[]): Promise<NodeChoices> => {
    if (!isAsking && clock.monotonicMs() >= notBeforeMs) {
      try {
        const answer = Choices.parse(await ask(questions)) ?? {}
        return { plugin, byJob: new Map(Object.entries(answer)), problem: null }
      } catch (error) {
        problem =
          error instanceof PluginError
            ? mapStrings(error.said, (text) => Words.parse(text))
            : say('choice.not_an_answer')
        notBeforeMs = clock.monotonicMs() + PAUSE_MS
        logger.warn({ plugin, problem: render(problem) }, 'a plugin could not choose nodes for jobs')
      }
    }
    return { plugin, byJob: new Map(), problem }
  }
}

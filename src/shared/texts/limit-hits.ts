import { isMessage, type Message, plain, say } from './message.ts'

export const wallLimitHit = (seconds: number, ranMs: number): Message =>
  say('limit_hit.ran', { limit: say('reason.wall_time_limit', { seconds }), seconds: Math.floor(ranMs / 1000) })

/**
 * Returns the limit without the details in parentheses: `memory limit of 512 MB` for `memory limit of 512 MB (used 530
 * MB)`. Thus, every hit of the same limit gives the same reason.
 */
export function limitOf(hit: Message): Message {
  const { limit, text } = hit.params
  if (isMessage(limit)) return limit
  return typeof text === 'string' ? plain(text.replace(/ \(.*\)$/, '')) : hit
}

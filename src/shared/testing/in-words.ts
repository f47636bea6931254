import { type Message, render } from '../texts/message.ts'

/** The same value, with the English text instead of each message in it. */
export function inWords(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inWords)
  if ('code' in value && 'params' in value) return render(value as Message)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inWords(one)]))
}

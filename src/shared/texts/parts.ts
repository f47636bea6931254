/** A parameter that is itself a message (`next.retry` within `timeline.and_next`), already rendered. */
export type Words = string & { readonly isRendered: true }

export interface AtNode {
  node: string
}

export const countOf = (value: number): string => value.toLocaleString('en-US')

export const several = (value: number, one: string): string => `${countOf(value)} ${value === 1 ? one : `${one}s`}`

/** For a text from outside, or another sentence, that is followed by our full stop or semicolon. */
export const withoutStop = (text: string): string => text.replace(/\.$/, '')

/** For a text from outside that ends as a sentence, whether or not it has a full stop. */
export const withStop = (text: string): string => `${withoutStop(text)}.`

const GB = 1_000_000_000

export const gigabytes = (bytes: number): string => `${(bytes / GB).toFixed(bytes < 10 * GB ? 1 : 0)} GB`

export const utcMinute = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`

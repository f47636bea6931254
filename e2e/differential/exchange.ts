import type { Request } from './http.ts'

/** What is compared of an answer, or of a finished job, with everything masked that may differ by its nature. */
export interface Seen {
  status: number
  headers: Record<string, string>
  body: string
}

export interface Exchange {
  scenario: string
  request: Request
  theirs: Seen
  ours: Seen
}

/**
 * One way in which we differ from Scrapyd 1.6 on purpose. docs/scrapyd-compatibility.md explains each at its anchor.
 */
export interface AllowedDifference {
  id: string
  reason: string
  /** A heading of docs/scrapyd-compatibility.md. */
  anchor: string
  /** As precisely as it can be said: which requests, and of which answers. */
  applies(exchange: Exchange): boolean
  /** Their answer as it is expected of us. */
  expect(theirs: Seen, exchange: Exchange): Seen
}

import type { Request } from './http.ts'

/** What is compared of a response or of a finished job, with everything masked that differs by its nature. */
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

/** One deliberate difference from Scrapyd 1.6. docs/scrapyd-compatibility.md explains each at its anchor. */
export interface AllowedDifference {
  id: string
  reason: string
  /** A heading of docs/scrapyd-compatibility.md. */
  anchor: string
  /** As narrow as possible: which requests, and which of their responses. */
  applies(exchange: Exchange): boolean
  /** Their response, changed to what we expect of ours. */
  expect(theirs: Seen, exchange: Exchange): Seen
}

import type { Request } from './http.ts'

/** The compared parts of a response or a finished job. Values that always differ are masked. */
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
  /** Whether the difference applies to this request and response. Should match as few exchanges as possible. */
  applies(exchange: Exchange): boolean
  /** Changes Scrapyd's response to the one expected from us. */
  expect(theirs: Seen, exchange: Exchange): Seen
}

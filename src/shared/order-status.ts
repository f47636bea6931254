import type { Job } from './contract/index.ts'

export const ORDER_STATUSES = ['pending', 'running', 'finished', 'error'] as const

/**
 * Describes a job in the terms of a crawl scheduler. A job with an unclear outcome is `finished`, with the reason
 * `unclear`.
 */
export function statusOfJob({ status, reason }: Pick<Job, 'status' | 'reason'>): {
  status: (typeof ORDER_STATUSES)[number]
  reason: string | null
} {
  if (status === 'queued' || status === 'starting') return { status: 'pending', reason: null }
  if (status === 'failed') return { status: 'error', reason: reason ?? status }
  if (status === 'cancelled' || status === 'lost') return { status: 'error', reason: status }
  return { status: status === 'running' ? status : 'finished', reason: status === 'unclear' ? status : null }
}

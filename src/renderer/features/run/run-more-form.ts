import type { Dependency, RunInput } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import { parseLimit } from '../../ui/fields/limits.ts'
import { describeRetry, readRetry, type RetryTexts, retryTexts } from '../../ui/fields/retry.ts'
import { formatMoment } from '../../ui/waiting.tsx'
import type { RunPrefill } from '../../state/run-dialog.ts'

/** What the section More asks for; most runs leave it alone. Times are those of `<input type="datetime-local">`. */
export interface MoreForm {
  readonly notBefore: string
  readonly expires: string
  readonly retry: RetryTexts
  /** null: as the project says. */
  readonly noOverlap: boolean | null
  /** At most AFTER_MAX. */
  readonly after: readonly Dependency[]
  readonly dedupeKey: string
  readonly dedupeTtl: string
}

/** As many as the contract takes. */
export const AFTER_MAX = 100

/** Times, the jobs waited for and the key belong to one run: they are not taken over from the last one. */
export function startMore(base: RunPrefill, prefill: RunPrefill): MoreForm {
  return {
    notBefore: localTime(prefill.notBeforeMs),
    expires: localTime(prefill.expiresAtMs),
    retry: retryTexts(base.retry),
    noOverlap: base.noOverlap ?? null,
    after: prefill.after ?? [],
    dedupeKey: prefill.dedupe?.key ?? '',
    dedupeTtl: prefill.dedupe ? formatDuration(prefill.dedupe.ttlSeconds) : '1 h'
  }
}

type MoreOfRun = Pick<RunInput, 'notBeforeMs' | 'expiresAtMs' | 'retry' | 'noOverlap' | 'after' | 'dedupe'>

/** Only what was asked for; or what is wrong, in words. */
export function readMore(form: MoreForm, nowMs: number): { more: MoreOfRun } | { problem: string } {
  const more: MoreOfRun = {}
  if (form.notBefore !== '') {
    const atMs = Date.parse(form.notBefore)
    if (Number.isNaN(atMs)) return { problem: 'Not before: choose a day and a time' }
    more.notBeforeMs = atMs
  }
  if (form.expires !== '') {
    const atMs = Date.parse(form.expires)
    if (Number.isNaN(atMs)) return { problem: 'Expires: choose a day and a time' }
    if (atMs <= nowMs) return { problem: 'Expires: that time is past' }
    if (atMs <= (more.notBeforeMs ?? 0)) return { problem: 'Expires: that is before it may be sent' }
    more.expiresAtMs = atMs
  }
  const retry = readRetry(form.retry)
  if ('problem' in retry) return retry
  if (retry.retry !== null) more.retry = retry.retry
  if (form.noOverlap !== null) more.noOverlap = form.noOverlap
  if (form.after.length > 0) more.after = [...form.after]
  const key = form.dedupeKey.trim()
  if (key !== '') {
    const ttl = parseLimit('wallSeconds', form.dedupeTtl)
    if ('problem' in ttl) return { problem: `Key: ${ttl.problem}` }
    if (ttl.value === null) return { problem: 'Key: say for how long, such as 1 h' }
    if (ttl.value > 31_536_000) return { problem: 'Key: at most 365 d' }
    more.dedupe = { key, ttlSeconds: ttl.value }
  }
  return { more }
}

/** What the closed section says: `not before 14:00 · up to 3 runs`; null: nothing was asked for. */
export function describeMore(more: MoreOfRun, nowMs: number): string | null {
  const words = [
    more.notBeforeMs != null && `not before ${formatMoment(more.notBeforeMs, nowMs)}`,
    more.expiresAtMs != null && `expires ${formatMoment(more.expiresAtMs, nowMs)}`,
    more.retry && (describeRetry(more.retry) === null ? 'no retry' : `up to ${more.retry.attempts} runs`),
    more.noOverlap === true && 'no overlap',
    more.after?.length && (more.after.length === 1 ? 'after another job' : `after ${more.after.length} other jobs`),
    more.dedupe && `key ${more.dedupe.key}`
  ].filter((word) => typeof word === 'string')
  return words.length === 0 ? null : words.join(' · ')
}

/** `2026-11-21T14:00`, in the zone of the machine. */
function localTime(atMs: number | null | undefined): string {
  if (atMs == null) return ''
  const at = new Date(atMs)
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

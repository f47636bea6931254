import { z } from 'zod'
import type { Alert, AlertScope } from '../../../shared/contract/index.ts'
import type { ScopeTexts } from './rule-form.ts'

export const UNTIL = { hour: '1 h', hours: '4 h', tomorrow: 'Tomorrow 9:00', at: 'At a time' } as const
export type Until = keyof typeof UNTIL

export interface SilenceTexts extends ScopeTexts {
  until: Until
  /** As `<input type="datetime-local">` writes it. */
  at: string
  comment: string
  /** null: of any rule. */
  ruleId: string | null
}

/** The narrowest things that an alert is about and that stay when it fires again: its spider, or its node. */
export function scopeOfAlert({ labels }: Pick<Alert, 'labels'>): AlertScope {
  const { project, spider, scheduleId, nodeId } = labels
  const isOfProject = project !== null
  return {
    ...{ project, spider, nodeTag: null },
    scheduleId: isOfProject && spider !== null ? null : scheduleId,
    nodeId: isOfProject ? null : nodeId
  }
}

/** When a silence ends that begins now; null: no time was entered. */
export function endOf({ until, at }: Pick<SilenceTexts, 'until' | 'at'>, nowMs: number): number | null {
  if (until === 'hour') return nowMs + 3_600_000
  if (until === 'hours') return nowMs + 4 * 3_600_000
  if (until === 'at') return Number.isNaN(Date.parse(at)) ? null : Date.parse(at)
  const tomorrow = new Date(nowMs)
  tomorrow.setDate(tomorrow.getDate() + 1)
  return tomorrow.setHours(9, 0, 0, 0)
}

/** What is sent, but for the end: that is counted from the moment of sending. */
export type Silence = AlertScope & Pick<SilenceTexts, 'until' | 'at'> & { ruleId: string | null; comment: string }

const text = z
  .string()
  .nullable()
  .transform((typed) => typed?.trim() || null)

export const SilenceForm = z
  .object({
    until: z.enum(['hour', 'hours', 'tomorrow', 'at']),
    at: z.string(),
    comment: z.string().trim().max(500),
    ruleId: z.string().nullable(),
    project: text,
    spider: text,
    scheduleId: text,
    nodeId: text,
    nodeTag: text
  })
  .check(({ value, issues }) => {
    if (value.until !== 'at') return
    const endMs = endOf(value, Date.now())
    const message =
      endMs === null ? 'Enter a date and time' : endMs <= Date.now() ? 'This time is in the past' : undefined
    if (message !== undefined) issues.push({ code: 'custom', message, path: ['at'], input: value })
  }) as never as z.ZodType<Silence, SilenceTexts>

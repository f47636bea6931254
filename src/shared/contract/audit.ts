import { z } from 'zod'
import { pageBytes, read } from './operation.ts'

/**
 * `refused`: the caller lacks a permission. `failed`: any other error. If the operation changed something before it
 * failed, the changes have a separate entry with the same `requestId`.
 */
export const AuditResult = z.enum(['done', 'refused', 'failed'])
export type AuditResult = z.infer<typeof AuditResult>

/** `ui`: a browser, or the desktop app's window. `socket`: the command line on this machine. */
export const AuditDoor = z.enum(['ui', 'api', 'jsonrpc', 'scrapyd', 'socket', 'login'])
export type AuditDoor = z.infer<typeof AuditDoor>

export const AuditWho = z.object({
  /** null: the owner of this machine, or an unknown caller. */
  userId: z.string().nullable(),
  /** For an unknown caller: the user name in the request. */
  name: z.string(),
  role: z.string().nullable(),
  tokenId: z.string().nullable(),
  tokenName: z.string().nullable(),
  /** Identical for all requests of a session. Cannot be used to log in. */
  session: z.string().nullable()
})
export type AuditWho = z.infer<typeof AuditWho>

/** `before` and `after` are JSON, with secrets masked and long values cut; null: no value. */
export const AuditField = z.object({ field: z.string(), before: z.string().nullable(), after: z.string().nullable() })
export type AuditField = z.infer<typeof AuditField>

export const AuditChange = z.object({
  noun: z.string(),
  /** The name for display, or the id of a thing without a name. */
  name: z.string(),
  fields: z.array(AuditField)
})
export type AuditChange = z.infer<typeof AuditChange>

/**
 * One operation of a caller, or several identical operations within a minute that were refused, failed or changed
 * nothing. The hash covers all fields.
 */
export const AuditRecord = z.object({
  seq: z.number().int(),
  atMs: z.number(),
  who: AuditWho,
  /** null: this machine's own socket or window. */
  address: z.string().nullable(),
  door: AuditDoor,
  requestId: z.string(),
  /** An operation of the contract (`nodes.update`) or of the Scrapyd API (`schedule.json`), or `login` or `logout`. */
  operation: z.string(),
  project: z.string().nullable(),
  /** The things named in the request, at most 20. `moreTargets` counts the rest. */
  targets: z.array(z.object({ noun: z.string(), name: z.string() })),
  moreTargets: z.number().int(),
  /** The request as JSON, with secrets masked and long values cut. */
  input: z.string(),
  changes: z.array(AuditChange),
  result: AuditResult,
  /** The error's code; null: there was no error. */
  code: z.string().nullable(),
  /** The number of identical requests. Exceeds one only for requests that were refused, failed or changed nothing. */
  count: z.number().int(),
  isCut: z.boolean()
})
export type AuditRecord = z.infer<typeof AuditRecord>

export const AuditEntry = AuditRecord.extend({
  previousHash: z.string(),
  hash: z.string()
})
export type AuditEntry = z.infer<typeof AuditEntry>

export const AuditFilter = z.object({
  who: z.string().max(200).optional(),
  operation: z.string().max(100).optional(),
  project: z.string().max(200).optional(),
  result: AuditResult.optional(),
  fromMs: z.coerce.number().int().min(0).optional(),
  untilMs: z.coerce.number().int().min(0).optional(),
  text: z.string().max(200).optional()
})
export type AuditFilter = z.infer<typeof AuditFilter>

export const AuditHead = z.object({
  /** 0: there are no entries. */
  seq: z.number().int(),
  hash: z.string(),
  /** The last entry that was deleted because of its age; 0: no entry was deleted. */
  deletedSeq: z.number().int()
})
export type AuditHead = z.infer<typeof AuditHead>

export const AuditCheck = z.object({
  head: AuditHead,
  checked: z.number().int(),
  broken: z.object({ seq: z.number().int(), problem: z.string() }).nullable(),
  /** Whether an entry has the expected hash; null: no hash was given. */
  hasExpected: z.boolean().nullable()
})
export type AuditCheck = z.infer<typeof AuditCheck>

export const auditContract = {
  /** Newest first. Filters scan 20,000 entries at a time, so a page before the last can be empty. */
  list: read('audit.read', 'GET /audit', 'service', { answerBytes: pageBytes })
    .input(
      AuditFilter.extend({
        before: z.coerce.number().int().positive().optional(),
        limit: z.coerce.number().int().min(1).max(500).default(100)
      })
    )
    .output(z.object({ entries: z.array(AuditEntry), nextBefore: z.number().int().nullable() })),

  /** Oldest first, without a filter. For copies that continue where the last export ended. */
  export: read('audit.read', 'GET /audit/export', 'service', { answerBytes: pageBytes })
    .input(
      z.object({
        after: z.coerce.number().int().min(0).default(0),
        limit: z.coerce.number().int().min(1).max(500).default(500)
      })
    )
    .output(z.object({ entries: z.array(AuditEntry), nextAfter: z.number().int().nullable() })),

  verify: read('audit.read', 'GET /audit/verification', 'service')
    .input(
      z.object({
        expect: z
          .string()
          .regex(/^[0-9a-f]{64}$/, 'A hash has 64 hexadecimal digits')
          .optional()
      })
    )
    .output(AuditCheck)
}

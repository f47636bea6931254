import type { NewAuditRecord, NewAuditEntry } from '../../model/records.ts'
import type { Store } from '../store.ts'
import { prepareEntry } from './chain.ts'

/** The entry of an operation that was not written yet. */
export interface AuditTicket {
  /** null: it is written already, or the operation has ended. The caller must write it. */
  take(): NewAuditRecord | null
  /** It was not written after all. */
  giveBack(): void
  /** Facts that the request does not have. */
  add(facts: Readonly<Record<string, unknown>>): void
}

/**
 * The verbs that carry out a user's request. All others follow events or clean up: dispatch that wakes during an
 * operation must not take its entry.
 */
export const AUDITED_VERBS = [
  ...(['enqueueJobs', 'recordRuns', 'setPriority', 'reorder', 'placeQueued', 'cancelQueued'] as const),
  ...(['changeQueued', 'restoreCancelled', 'askCancel', 'keepJobs', 'setErrorState', 'dismissFindings'] as const),
  ...(['putNode', 'deleteNode', 'putSource', 'deleteSource', 'putLimits', 'putSetting'] as const),
  ...(['putVersion', 'deleteVersion', 'changeVersions', 'putProjectSettings', 'putStoragePolicy'] as const),
  ...(['putSchedule', 'deleteSchedules', 'fire', 'putBackfill', 'putChain', 'deleteChain'] as const),
  ...(['putWebhook', 'deleteWebhook', 'replayDeliveries'] as const),
  ...(['putAlertRule', 'deleteAlertRule', 'putSilence', 'deleteSilence', 'answerAlerts'] as const),
  ...(['putUser', 'deleteUser', 'putGroup', 'deleteGroup', 'putRole', 'deleteRole'] as const),
  ...(['addAccessToken', 'deleteAccessToken'] as const),
  ...(['putAuthenticator', 'putRecoveryCodes', 'deleteAuthenticator'] as const),
  ...(['addPasskey', 'deletePasskey', 'deleteSecondFactors'] as const)
] satisfies (keyof Store)[]

/** For verbs that return what they changed: the store then writes no entry, and the ticket comes back. */
export const changedNothing = (result: unknown): boolean => Array.isArray(result) && result.length === 0

/** The first write of an operation takes its entry along. `ticketOf`: of the operation in progress. */
export function auditedStore<Kind extends Store>(store: Kind, ticketOf: () => AuditTicket | null): Kind {
  const audited = AUDITED_VERBS.map((verb) => {
    const perform = store[verb] as unknown as (...values: unknown[]) => Promise<unknown>
    return [
      verb,
      (...values: unknown[]) => {
        const ticket = ticketOf()
        const record = ticket?.take() ?? null
        if (record === null) return perform(...values)
        return store
          .withAudit(prepareEntry(record), () => perform(...values))
          .then((result) => {
            if (changedNothing(result)) ticket!.giveBack()
            return result
          })
          .catch((error: unknown) => {
            ticket!.giveBack()
            throw error
          })
      }
    ]
  })
  return { ...store, ...(Object.fromEntries(audited) as Partial<Kind>) }
}

/** Passes the audit entry of an operation to the write that `withAudit` begins synchronously. */
export function createNextEntry() {
  let next: NewAuditEntry | null = null
  return {
    withAudit<T>(entry: NewAuditEntry, begin: () => T): T {
      next = entry
      try {
        return begin()
      } finally {
        next = null
      }
    },

    /** null: the write that begins now belongs to no operation. The first caller gets the entry. */
    take(): NewAuditEntry | null {
      const entry = next
      next = null
      return entry
    }
  }
}

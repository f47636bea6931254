import type { NewAuditRecord, NewAuditEntry } from '../../model/records.ts'
import type { Store } from '../store.ts'
import { prepareEntry } from './chain.ts'

/** The audit entry of an operation, until a write stores it. */
export interface AuditTicket {
  /** Returns the entry, which the caller must write; null: the entry is already written, or the operation has ended. */
  take(): NewAuditRecord | null
  giveBack(): void
  add(facts: Readonly<Record<string, unknown>>): void
}

/**
 * The calls that carry out a user's request. All other calls, such as those of dispatch, must not store its audit
 * entry.
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

/** Whether the result is an empty list of changes. The audit entry of such a call goes back to its ticket. */
export const changedNothing = (result: unknown): boolean => Array.isArray(result) && result.length === 0

/** Stores an operation's audit entry with its first write. `ticketOf` returns the ticket of the current operation. */
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

/** Passes an operation's audit entry to the write that `withAudit` starts synchronously. */
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

    take(): NewAuditEntry | null {
      const entry = next
      next = null
      return entry
    }
  }
}

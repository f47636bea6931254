import type { NewAuditEntry } from '../../model/records.ts'

/** Hands the entry of an operation to the write that `withAudit` begins at once, for whatever stands before a store. */
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

    /** null: the write that begins now belongs to no operation. The first caller gets it. */
    take(): NewAuditEntry | null {
      const entry = next
      next = null
      return entry
    }
  }
}

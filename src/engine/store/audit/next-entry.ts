import type { NewAuditRecord } from '../records.ts'

/** Hands the entry of an operation to the write that `withAudit` begins at once, for whatever stands before a store. */
export function createNextEntry() {
  let next: NewAuditRecord | null = null
  return {
    withAudit<T>(record: NewAuditRecord, begin: () => T): T {
      next = record
      try {
        return begin()
      } finally {
        next = null
      }
    },

    /** null: the write that begins now belongs to no operation. Whoever asks first gets it. */
    take(): NewAuditRecord | null {
      const record = next
      next = null
      return record
    }
  }
}

import { type EncryptionKeys, missingKey } from './encryption-keys.ts'

const PLAIN = 'plain'

/**
 * What the store records of the keys: the newest, others that may have sealed what is stored, and `plain` if some of it
 * may not be sealed. Returns the record as it is from this start on; null: nothing was ever sealed. Throws
 * ENCRYPTION_KEY_MISSING: without a key that was used, an engine must not start as if all could be read. Pure.
 */
export function recordKeys(before: string | null, keys: EncryptionKeys): string | null {
  const used = (before ?? '').split(' ').filter((each) => each !== '')
  for (const id of used)
    if (id !== PLAIN && !keys.ids.includes(id) && !keys.lostIds.includes(id)) throw missingKey(id, 'What is stored')
  if (keys.newest === null) return before
  const { id } = keys.newest
  return [id, ...(before === null ? [PLAIN] : used.filter((each) => each !== id))].join(' ')
}

/** Everything is sealed with one key. Pure. */
export const isAllSealed = (record: string, { newest }: EncryptionKeys): boolean => record === newest?.id

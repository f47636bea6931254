import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'

/** `baseline`: the version whose tables the first step creates. Each further step leads to the next version. */
export interface Migrations {
  baseline: number
  steps: readonly string[]
}

/**
 * A migration that changes no tables. It raises the version, because an older engine would show the codes of reasons,
 * problems and alerts instead of texts, and would write them back.
 */
export const TEXTS_ARE_CODES = 'SELECT 1'

/** The last commit that can migrate data older than both baselines. */
const MIGRATES_OLDER = '70d168b8'

export const newestVersion = ({ baseline, steps }: Migrations): number => baseline + steps.length - 1

/**
 * Returns the migrations that version `present` (0: new) lacks. Throws DATA_FROM_NEWER_VERSION or DATA_TOO_OLD.
 * `orElse`: an alternative for operators.
 */
export function missingSteps(
  name: string,
  present: number,
  migrations: Migrations,
  orElse: Sentence | '' = ''
): readonly string[] {
  const { baseline, steps } = migrations
  const holder = sentence('storage.schema_of', { name, present })
  if (present > newestVersion(migrations)) {
    const text = sentence('storage.data_from_newer_version', {
      holder,
      newestVersion: newestVersion(migrations),
      orElse
    })
    throw new ScrapdeckError('DATA_FROM_NEWER_VERSION', text)
  }
  if (present === 0) return steps
  if (present < baseline) {
    const text = sentence('storage.data_too_old', { holder, baseline, commit: MIGRATES_OLDER, orElse })
    throw new ScrapdeckError('DATA_TOO_OLD', text)
  }
  return steps.slice(present - baseline + 1)
}

/** Only stores of the newest version can be copied, because a copy has exactly that version's columns. */
export function requireNewestSchema(name: string, version: number, migrations: Migrations): void {
  if (missingSteps(name, version, migrations).length === 0) return
  const text = sentence('storage.schema_older', { name, version, newest: newestVersion(migrations) })
  throw new ScrapdeckError('BAD_INPUT', sentence('storage.migrate_first', { text }))
}

import type { ProjectName } from '../../shared/contract/index.ts'

/** Whether a client chose the key, or Scrapdeck did (for crawl orders and idempotent requests). */
type ChosenBy = 'client' | 'own'

/** As it is stored: keys of different projects never meet, nor do those of clients and ours. */
export function dedupeKeyOf(project: ProjectName, chosenBy: ChosenBy, key: string): string {
  return `${JSON.stringify([project, chosenBy])}${key}`
}

/** The key as it was given. Jobs that were queued before keys were of a project have it as it is. Pure. */
export function givenDedupeKey(project: ProjectName, stored: string | null): string | null {
  if (stored === null) return null
  const prefix = (['client', 'own'] as const)
    .map((by) => dedupeKeyOf(project, by, ''))
    .find((one) => stored.startsWith(one))
  return stored.slice(prefix?.length ?? 0)
}

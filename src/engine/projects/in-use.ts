import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { VersionStore } from '../storage/store.ts'

/** Rejects with VERSION_IN_USE while jobs need this version (null: any version). `advice` completes the message. */
export async function refuseInUse(
  store: Pick<VersionStore, 'countJobsNeeding'>,
  project: ProjectName,
  version: VersionName | null,
  advice: string
): Promise<void> {
  const count = await store.countJobsNeeding(project, version)
  if (count === 0) return
  const jobs = count === 1 ? '1 job that has not ended needs' : `${count} jobs that have not ended need`
  const what = version === null ? project : `version ${version} of ${project}`
  throw new ScrapdeckError('VERSION_IN_USE', `${jobs} ${what}. Cancel or wait, then ${advice}.`, { data: { count } })
}

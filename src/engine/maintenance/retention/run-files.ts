import type { KeepPolicy } from '../../../shared/contract/index.ts'
import type { RunFile } from './old-files.ts'

/** Files of runs that retention deletes by a policy. */
export interface RunFiles<File extends RunFile = RunFile> {
  list(): Promise<File[]>
  /** Those of one project that go. */
  listOld(files: readonly File[], policy: KeepPolicy, nowMs: number): Promise<File[]>
  delete(file: File): Promise<void>
}

/** Both together; the policy applies to each separately. */
export function bothOf(local: RunFiles, archived: RunFiles): RunFiles {
  const isArchived = ({ blobOf }: RunFile) => blobOf !== undefined
  return {
    list: async () => (await Promise.all([local.list(), archived.list()])).flat(),
    listOld: async (files, policy, nowMs) => [
      ...(await local.listOld(
        files.filter((file) => !isArchived(file)),
        policy,
        nowMs
      )),
      ...(await archived.listOld(files.filter(isArchived), policy, nowMs))
    ],
    delete: (file) => (isArchived(file) ? archived : local).delete(file)
  }
}

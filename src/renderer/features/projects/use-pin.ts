import { useMutation } from '@tanstack/react-query'
import type { Project, VersionName } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/projects.ts'

/** Pins a version of the project (null: unpins), and offers Undo. It changes once the engine has confirmed it. */
export function usePin({ name, settings: { pinnedVersion = null } }: Project) {
  const { client, query } = useApi()
  const { mutate, isPending } = useMutation(
    query.projects.pinVersion.mutationOptions({
      // The project may be shown as changed before the answer is here: what it was is known only now.
      onMutate: () => ({ before: pinnedVersion }),
      onSuccess: ({ activeVersion, settings }, _asked, { before }) =>
        notifyUndo(
          settings.pinnedVersion == null
            ? `${name} is no longer pinned: new jobs run ${activeVersion ?? texts.theLatestVersion}.`
            : texts.isPinnedNewJobsRun(name, settings.pinnedVersion),
          () => client.projects.pinVersion({ project: name, version: before }),
          texts.pin2(name)
        ),
      onError: (error) => notifyError(texts.couldNotChangeThePinnedVersion(name), error)
    })
  )
  return { isPending, pin: (version: VersionName | null) => mutate({ project: name, version }) }
}

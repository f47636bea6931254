import { useMutation } from '@tanstack/react-query'
import type { Project, VersionName } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/projects.ts'

/** `pin(null)` unpins. The screen changes only after the engine has confirmed the change. */
export function usePin({ name, settings: { pinnedVersion = null } }: Project) {
  const { client, query } = useApi()
  const { mutate, isPending } = useMutation(
    query.projects.pinVersion.mutationOptions({
      // Remember the current pin for Undo, because the change feed can update the project before the response arrives.
      onMutate: () => ({ before: pinnedVersion }),
      onSuccess: ({ activeVersion, settings }, _asked, { before }) =>
        notifyUndo(
          settings.pinnedVersion == null
            ? texts.unpinned(name, activeVersion)
            : texts.pinnedTo(name, settings.pinnedVersion),
          () => client.projects.pinVersion({ project: name, version: before }),
          `pin:${name}`
        ),
      onError: (error) => notifyError(texts.couldNotPin(name), error)
    })
  )
  return { isPending, pin: (version: VersionName | null) => mutate({ project: name, version }) }
}

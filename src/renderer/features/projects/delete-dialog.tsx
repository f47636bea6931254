import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { Project, Version } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Dialog, DialogFoot } from '../../ui/dialog.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import classes from './projects.module.css'
import { texts } from '../../../shared/texts/ui/projects.ts'

interface DeleteDialogProps {
  project: Project
  /** null: the whole project. */
  version: Version | null
  onClose: () => void
  onProjectGone: () => void
}

/** An egg cannot be restored, so this asks for confirmation and offers no Undo. */
export function DeleteDialog({ project, version, onClose, onProjectGone }: DeleteDialogProps) {
  const { client } = useApi()
  const nodeName = useNodeName()
  const what = version === null ? project.name : `${project.name} ${version.version}`
  const isLast = version === null || project.versions.length === 1
  const { mutate, isPending, error, data } = useMutation({
    mutationFn: () =>
      version === null
        ? client.projects.deleteProject({ project: project.name })
        : client.projects.deleteVersion({ project: project.name, version: version.version }),
    onSuccess: ({ failedNodes }) => {
      if (failedNodes.length > 0) return
      notifyDone(texts.deleted(what))
      onClose()
      if (isLast) onProjectGone()
    }
  })
  const failedNodes = data?.failedNodes ?? []
  const places = new Set(
    (version === null ? project.versions : [version]).flatMap((each) =>
      each.deployments.filter(({ state }) => state === 'present').map(({ nodeId }) => nodeId)
    )
  )
  if (failedNodes.length > 0)
    return (
      <Dialog opened onClose={onClose} title={texts.askDelete(what)} size={460}>
        <div className={`${classes.failure} notice-bad`} role="alert">
          <strong>{texts.deletedOnlyHere(what, failedNodes.length)}</strong>
          {failedNodes.map(({ nodeId, error: reason }) => (
            <p key={nodeId}>
              {nodeName(nodeId)}: {reason ?? texts.noReasonGiven}
            </p>
          ))}
        </div>
        <DialogFoot>
          <Button onClick={onClose}>{texts.close}</Button>
        </DialogFoot>
      </Dialog>
    )
  return (
    <ConfirmDialog
      title={texts.askDelete(what)}
      act={texts.delete}
      onAct={mutate}
      isActing={isPending}
      error={error}
      keep={texts.keepIt}
      onClose={onClose}
    >
      {version === null
        ? texts.deleteProjectHint(project.versions.length, places.size)
        : texts.deleteVersionHint(places.size)}
      {version !== null && version.version === project.activeVersion && project.versions[1] !== undefined && (
        <> {texts.nextVersionHint(<strong>{project.versions.find((each) => each !== version)?.version}</strong>)}</>
      )}
    </ConfirmDialog>
  )
}

import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import { DialogText } from '../../ui/dialog.tsx'
import type { Deployment, Project, Version } from '../../../shared/contract/index.ts'
import { explainError } from '../../api/explain-error.ts'
import { useApi } from '../../api/api.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { plural } from '../../ui/numbers.ts'
import classes from './projects.module.css'

interface DeleteDialogProps {
  project: Project
  /** null: the whole project. */
  version: Version | null
  onClose: () => void
  onProjectGone: () => void
}

/** Says what will be gone. An egg cannot be brought back, so this is asked and not undone. */
export function DeleteDialog({ project, version, onClose, onProjectGone }: DeleteDialogProps) {
  const { client } = useApi()
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [failedNodes, setFailedNodes] = useState<readonly Deployment[]>([])
  const what = version === null ? project.name : `${project.name} ${version.version}`
  const isLast = version === null || project.versions.length === 1
  const places = new Set(
    (version === null ? project.versions : [version]).flatMap((each) =>
      each.deployments.filter(({ state }) => state === 'present').map(({ nodeId }) => nodeId)
    )
  )

  const remove = async () => {
    setBusy(true)
    setError(null)
    try {
      const gone =
        version === null
          ? await client.projects.deleteProject({ project: project.name })
          : await client.projects.deleteVersion({ project: project.name, version: version.version })
      if (gone.failedNodes.length > 0) return setFailedNodes(gone.failedNodes)
      notifyDone(`${what} was deleted.`)
      onClose()
      if (isLast) onProjectGone()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }

  return (
    <Modal opened onClose={onClose} title={`Delete ${what}?`} size={460}>
      {failedNodes.length > 0 ? (
        <div className={classes.failure} role="alert">
          <strong>
            {what} was deleted here, but is still on {plural(failedNodes.length, 'node')}
          </strong>
          {failedNodes.map(({ nodeId, error: reason }) => (
            <p key={nodeId}>
              {nodeId}: {reason ?? 'no reason given'}
            </p>
          ))}
        </div>
      ) : (
        <DialogText>
          {version === null ? `All ${plural(project.versions.length, 'version')} and their eggs` : 'Its egg'} will be
          deleted here{places.size > 0 ? ` and on ${plural(places.size, 'node')}` : ''}. Its jobs and their logs are
          kept.
          {version !== null && version.version === project.latestVersion && project.versions[1] !== undefined && (
            <>
              {' '}
              Jobs without a version then use{' '}
              <strong>{project.versions.find((each) => each !== version)?.version}</strong>.
            </>
          )}
        </DialogText>
      )}
      {error !== null && (
        <div className={classes.failure} role="alert">
          <strong>{explainError(error).title}</strong>
          <p>{explainError(error).text}</p>
        </div>
      )}
      <footer className={classes.dialogFoot}>
        <Button onClick={onClose}>{failedNodes.length > 0 ? 'Close' : 'Keep it'}</Button>
        {failedNodes.length === 0 && (
          <Button variant="filled" color="red" loading={isBusy} onClick={() => void remove()}>
            Delete
          </Button>
        )}
      </footer>
    </Modal>
  )
}

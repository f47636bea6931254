import { Button, Progress as ProgressBar } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Progress } from '../../shared/contract/index.ts'
import { useApi } from '../api/api.tsx'
import { notifyError } from './notify.tsx'
import classes from './python-environment.module.css'

/** Makes the local node's Python environment and follows its progress. */
export function useCreateEnvironment() {
  const { client, query } = useApi()
  const queryClient = useQueryClient()
  const [progress, setProgress] = useState<Progress | null>(null)
  const { data: status } = useQuery(query.system.status.queryOptions())
  const create = async () => {
    setProgress({ text: 'Starting', done: false, share: 0 })
    try {
      for await (const step of await client.system.createEnvironment()) setProgress(step)
      await queryClient.invalidateQueries({ queryKey: query.system.status.key() })
    } catch (error) {
      notifyError('Could not create the environment', error)
    }
    setProgress(null)
  }
  // Another window, or the engine itself, may be making it.
  const creatingElsewhere = progress === null && status?.python.state === 'creating'
  return {
    progress: creatingElsewhere ? { text: 'Creating', done: false, share: null } : progress,
    create: () => void create()
  }
}

/** A button that turns into a progress bar. */
export function CreateEnvironment({ primary = false }: { primary?: boolean }) {
  const { progress, create } = useCreateEnvironment()
  if (progress === null) {
    return (
      <Button variant={primary ? 'filled' : 'default'} onClick={create}>
        Create environment
      </Button>
    )
  }
  const percent = Math.round((progress.share ?? 1) * 100)
  return (
    <div className={classes.progress} role="status">
      <span className="ellipsis" title={progress.text}>
        {progress.text}…
      </span>
      <ProgressBar value={percent} animated={progress.share === null} aria-label="Creating the environment" />
    </div>
  )
}

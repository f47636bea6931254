import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { Environment } from '../../shared/contract/index.ts'
import { useApi } from '../api/api.tsx'
import { useMay } from '../api/use-me.ts'
import { environmentName } from './environment.tsx'
import { notifyError } from './notify.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

export function useRebuild(environment: Environment): { rebuild: () => void; isAsking: boolean } {
  const { query } = useApi()
  const { mutate, isPending } = useMutation(
    query.environments.rebuild.mutationOptions({
      onError: (error) => notifyError(texts.couldNotRebuild(environmentName(environment)), error)
    })
  )
  return { rebuild: () => mutate({ id: environment.id }), isAsking: isPending }
}

/** For a failed environment of a project. The main environment has a "Create environment" button instead. */
export function RebuildButton({ environment }: { environment: Environment }) {
  const { may } = useMay('environments.change')
  const { rebuild, isAsking } = useRebuild(environment)
  if (!may || environment.state !== 'failed' || environment.kind !== 'requirements') return null
  return (
    <Button loading={isAsking} onClick={rebuild}>
      {texts.rebuild}
    </Button>
  )
}

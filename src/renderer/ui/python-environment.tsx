import { Box, Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Progress } from '../../shared/contract/index.ts'
import { useApi } from '../api/api.tsx'
import { useMay } from '../api/use-me.ts'
import { StepProgress } from './environment.tsx'
import { notifyError } from './notify.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

const NOT_STEPPED: Progress = { text: texts.creatingEnvironment, done: false, share: null }

export function CreateEnvironment({ primary = false }: { primary?: boolean }) {
  const { client, query } = useApi()
  const { may } = useMay('environments.change', 'everywhere')
  const [step, setStep] = useState(NOT_STEPPED)
  const { data: status, refetch } = useQuery(query.system.status.queryOptions())
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      for await (const each of await client.system.createEnvironment()) setStep(each)
      await refetch()
    },
    onError: (error) => notifyError(texts.couldNotCreateEnvironment, error),
    onSettled: () => setStep(NOT_STEPPED)
  })
  // Another window or the engine might already be creating the environment.
  if (isPending || status?.python.state === 'creating')
    return (
      <Box w={220} maw="100%">
        <StepProgress progress={step} />
      </Box>
    )
  if (!may) return null
  return (
    <Button variant={primary ? 'filled' : 'default'} onClick={() => mutate()}>
      {texts.createEnvironment}
    </Button>
  )
}

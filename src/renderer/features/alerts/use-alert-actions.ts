import { useMemo } from 'react'
import type { Alert } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyDone, notifyError } from '../../ui/notify.tsx'
import { plural } from '../../ui/numbers.ts'

/** Whoever takes an alert says so: that ends its repeats and its escalation. */
export function useAcknowledge() {
  const { client } = useApi()
  return useMemo(
    () => async (alerts: readonly Alert[]) => {
      try {
        const { acknowledged } = await client.alerts.acknowledge({ ids: alerts.map(({ id }) => id) })
        if (alerts.length > 1) notifyDone(`${plural(acknowledged, 'alert')} acknowledged`)
      } catch (error) {
        notifyError('Could not acknowledge', error)
      }
    },
    [client]
  )
}

/** Whether it makes sense to acknowledge it. */
export const isOpen = ({ state, acknowledged }: Alert): boolean => state === 'firing' && acknowledged === null

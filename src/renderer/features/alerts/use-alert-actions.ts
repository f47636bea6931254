import { useMemo } from 'react'
import type { Alert } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/alerts.ts'

export function useAlertActions() {
  const { client } = useApi()
  return useMemo(() => {
    const takeBack = async (ids: Alert['id'][]) => {
      await client.alerts.unacknowledge({ ids })
    }
    return {
      acknowledge: async (alerts: readonly Alert[]) => {
        const ids = alerts.map(({ id }) => id)
        try {
          const { acknowledged } = await client.alerts.acknowledge({ ids })
          const [only] = alerts
          const what = alerts.length === 1 ? only!.subject : texts.alertCount(acknowledged)
          notifyUndo(
            texts.alertsAcknowledged(what),
            () => takeBack(ids),
            ids.length === 1 ? `alert:${ids[0]}` : undefined
          )
        } catch (error) {
          notifyError(texts.couldNotAcknowledge, error)
        }
      },
      takeBack: async ({ id }: Alert) => {
        try {
          await takeBack([id])
        } catch (error) {
          notifyError(texts.couldNotUnacknowledge, error)
        }
      }
    }
  }, [client])
}

export const isOpen = ({ state, acknowledged }: Alert): boolean => state === 'firing' && acknowledged === null

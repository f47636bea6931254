import { useMemo } from 'react'
import type { Alert } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { plural } from '../../ui/numbers.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

/** An acknowledgement ends the repeats and the escalation of an alert, until it is taken back. */
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
          const what = alerts.length === 1 ? only!.subject : plural(acknowledged, 'alert')
          notifyUndo(texts.acknowledged2(what), () => takeBack(ids), ids.length === 1 ? `alert ${ids[0]}` : undefined)
        } catch (error) {
          notifyError(texts.couldNotAcknowledge, error)
        }
      },
      takeBack: async ({ id }: Alert) => {
        try {
          await takeBack([id])
        } catch (error) {
          notifyError(texts.couldNotTakeTheAcknowledgement, error)
        }
      }
    }
  }, [client])
}

/** Whether it makes sense to acknowledge it. */
export const isOpen = ({ state, acknowledged }: Alert): boolean => state === 'firing' && acknowledged === null

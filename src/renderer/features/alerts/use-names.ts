import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import type { Names } from './alert-words.ts'

const SCHEDULES_MAX = 200

/** The schedules that there are, to choose from and to name. */
export function useSchedules() {
  const { query } = useApi()
  return useQuery(query.schedules.list.queryOptions({ input: { limit: SCHEDULES_MAX } })).data?.schedules ?? []
}

/** Names of nodes and schedules; the id itself of what is gone. */
export function useNames(): Names {
  const { query } = useApi()
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes
  const schedules = useSchedules()
  return {
    node: (id) => nodes?.find((node) => node.id === id)?.name ?? id,
    schedule: (id) => schedules.find((schedule) => schedule.id === id)?.name ?? id
  }
}

/** The channels, for whoever may choose them in rules; undefined: not known. */
export function useChannelNames() {
  const { query } = useApi()
  const { may } = useMay('alerts.change')
  return useQuery({ ...query.alertChannels.names.queryOptions(), enabled: may }).data?.channels
}

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Schedule } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import type { Names } from './alert-words.ts'

const SCHEDULES_MAX = 200

const NONE: readonly Schedule[] = []

export function useSchedules(): readonly Schedule[] {
  const { query } = useApi()
  return useQuery(query.schedules.list.queryOptions({ input: { limit: SCHEDULES_MAX } })).data?.schedules ?? NONE
}

/** Finds the names of nodes and schedules. A removed node or schedule has its id as its name. */
export function useNames(): Names {
  const { query } = useApi()
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes
  const schedules = useSchedules()
  return useMemo(
    () => ({
      node: (id) => nodes?.find((node) => node.id === id)?.name ?? id,
      schedule: (id) => schedules.find((schedule) => schedule.id === id)?.name ?? id
    }),
    [nodes, schedules]
  )
}

/** Only for users who may choose channels in rules. */
export function useChannelNames() {
  const { query } = useApi()
  const { may } = useMay('alerts.change')
  return useQuery({ ...query.alertChannels.names.queryOptions(), enabled: may }).data?.channels
}

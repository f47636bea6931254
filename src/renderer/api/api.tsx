import { createTanstackQueryUtils, type RouterUtils } from '@orpc/tanstack-query'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { inLanguage } from './in-language.ts'
import type { Client } from './wire.ts'

export interface Api {
  client: Client
  /** Options for TanStack Query: `useQuery(api.query.nodes.list.queryOptions())`. */
  query: RouterUtils<Client>
}

const ApiContext = createContext<Api | null>(null)

export function ApiProvider({ client, children }: { client: Client; children: ReactNode }) {
  const api = useMemo(() => createApi(client), [client])
  return <ApiContext value={api}>{children}</ApiContext>
}

export function useApi(): Api {
  const api = useContext(ApiContext)
  if (api === null) throw new Error('useApi outside of ApiProvider')
  return api
}

export function createApi(engine: Client): Api {
  const client = inLanguage(engine)
  return { client, query: createTanstackQueryUtils(client) }
}

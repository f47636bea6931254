import { useQueries } from '@tanstack/react-query'
import pLimit from 'p-limit'
import { useState } from 'react'
import type { NodeAddress, ProbeResult } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { explainError } from '../../api/explain-error.ts'
import type { PastedAddress } from './parse-addresses.ts'

export interface Probe {
  asking: boolean
  result: ProbeResult | null
  error: string | null
}

export type Credentials = Record<'username' | 'password' | 'caCertificate', string | null>

const AT_ONCE = 12

/** Probes an address again when its credentials change. */
export function useProbes(
  addresses: readonly PastedAddress[],
  credentialsOf: (address: PastedAddress) => Credentials
): ReadonlyMap<string, Probe> {
  const { client } = useApi()
  const [limit] = useState(() => pLimit(AT_ONCE))
  const asked = addresses.filter(({ problem }) => problem === null)
  const answers = useQueries({
    queries: asked.map((address) => {
      const input: NodeAddress = { url: address.url, ...credentialsOf(address) }
      return {
        queryKey: ['probe', input],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          limit(() => {
            signal.throwIfAborted()
            return client.nodes.probe(input, { signal })
          }),
        retry: false,
        gcTime: 0
      }
    })
  })
  return new Map(
    answers.map(({ isFetching, data, error }, index) => [
      asked[index]!.key,
      { asking: isFetching, result: data ?? null, error: error === null ? null : explainError(error).text }
    ])
  )
}

import { useEffect, useRef, useState } from 'react'
import type { NodeAddress, ProbeResult } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { explainError } from '../../api/explain-error.ts'
import type { PastedAddress } from './parse-addresses.ts'

/** What we know of one address. `asking` keeps the last answer in sight while it is asked again. */
export interface Probe {
  asking: boolean
  result: ProbeResult | null
  error: string | null
}

export interface Credentials {
  username: string | null
  password: string | null
  caCertificate: string | null
}

const AT_ONCE = 12

/** Looks at every address, some at once; an address is asked again when its credentials change. */
export function useProbes(
  addresses: readonly PastedAddress[],
  credentialsOf: (address: PastedAddress) => Credentials
): ReadonlyMap<string, Probe> {
  const { client } = useApi()
  const [probes, setProbes] = useState<ReadonlyMap<string, Probe>>(new Map())
  const asked = useRef(new Map<string, string>())
  const waiting = useRef<{ key: string; input: NodeAddress }[]>([])
  const running = useRef(0)
  const abort = useRef<AbortController>(null)

  useEffect(() => {
    const controller = new AbortController()
    const questions = asked.current
    abort.current = controller
    return () => {
      controller.abort()
      // What was not answered is asked again, should the dialog come back (and in React's strict mode).
      waiting.current = []
      running.current = 0
      questions.clear()
    }
  }, [])

  useEffect(() => {
    const set = (key: string, change: Partial<Probe>) =>
      setProbes((old) =>
        new Map(old).set(key, { ...(old.get(key) ?? { asking: true, result: null, error: null }), ...change })
      )
    const next = () => {
      const signal = abort.current?.signal
      while (running.current < AT_ONCE && waiting.current.length > 0) {
        const { key, input } = waiting.current.shift() as (typeof waiting.current)[number]
        const question = JSON.stringify(input)
        running.current++
        const isNewest = () => !signal?.aborted && asked.current.get(key) === question
        client.nodes
          .probe(input, { signal })
          .then((result) => isNewest() && set(key, { asking: false, result, error: null }))
          .catch(
            (error: unknown) => isNewest() && set(key, { asking: false, result: null, error: explainError(error).text })
          )
          .finally(() => {
            if (signal?.aborted) return
            running.current--
            next()
          })
      }
    }
    for (const address of addresses) {
      if (address.problem !== null) continue
      const input = { url: address.url, ...credentialsOf(address) }
      const question = JSON.stringify(input)
      if (asked.current.get(address.key) === question) continue
      asked.current.set(address.key, question)
      set(address.key, { asking: true })
      waiting.current = [...waiting.current.filter(({ key }) => key !== address.key), { key: address.key, input }]
    }
    next()
  }, [addresses, credentialsOf, client])

  return probes
}

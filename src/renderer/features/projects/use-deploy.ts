import { useCallback, useEffect, useRef, useState } from 'react'
import type { Deployment, NodeId, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'

export interface Deploy {
  readonly isRunning: boolean
  /** The newest word of each node. */
  readonly deployments: ReadonlyMap<string, Deployment>
  /** The whole deploy broke off; what single nodes said stays. */
  readonly error: unknown
  start: (nodeIds?: NodeId[]) => void
}

/** Sends one version to nodes and keeps what each of them answers. Leaving the screen does not stop the engine. */
export function useDeploy(project: ProjectName, version: VersionName): Deploy {
  const { client } = useApi()
  const [isRunning, setRunning] = useState(false)
  const [deployments, setDeployments] = useState<ReadonlyMap<string, Deployment>>(new Map())
  const [error, setError] = useState<unknown>(null)
  const isGone = useRef(false)
  useEffect(() => {
    isGone.current = false
    return () => {
      isGone.current = true
    }
  }, [])

  const start = useCallback(
    (nodeIds?: NodeId[]) => {
      setRunning(true)
      setError(null)
      const follow = async () => {
        try {
          for await (const deployment of await client.projects.deploy({ project, version, nodeIds })) {
            if (!isGone.current) setDeployments((before) => new Map(before).set(deployment.nodeId, deployment))
          }
        } catch (failure) {
          if (!isGone.current) setError(failure)
        } finally {
          if (!isGone.current) setRunning(false)
        }
      }
      void follow()
    },
    [client, project, version]
  )
  return { isRunning, deployments, error, start }
}

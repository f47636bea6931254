import { useCallback, useEffect, useRef, useState } from 'react'
import type { Deployment, NodeId, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'

export type Deploy = ReturnType<typeof useDeploy>

/** The engine continues to deploy even if the user leaves the screen. */
export function useDeploy(project: ProjectName, version: VersionName) {
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
  const hasStarted = isRunning || deployments.size > 0 || error !== null
  return { isRunning, hasStarted, deployments, error, start }
}

import { useMemo } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import { isAway, nodeWord } from '../../ui/status.tsx'
import type { Away, AwayOf } from './job-columns.tsx'

/**
 * Which live jobs have a node with problems. Read from the nodes once they are loaded, because a node that responds
 * again changes before its jobs do; otherwise from the job.
 */
export function useAway(nodes: readonly Node[] | undefined): AwayOf {
  // Nodes change every second, but rarely go away: only the latter may render every row again.
  const awayText = JSON.stringify(nodes?.filter(isAway).map(awayEntry) ?? [])
  const hasNodes = nodes !== undefined
  return useMemo(() => {
    const away = new Map(JSON.parse(awayText) as [string, Away][])
    return (job) => {
      if (job.nodeId === null || job.state === 'ended' || job.state === 'queued') return null
      const known = away.get(job.nodeId)
      if (known !== undefined) return known
      if (hasNodes || job.unknownSinceMs === null) return null
      return { word: 'down', lastSeenAtMs: job.unknownSinceMs, unknownSinceMs: job.unknownSinceMs }
    }
  }, [awayText, hasNodes])
}

function awayEntry(node: Node): [string, Away] {
  const { id, health, lastSeenAtMs, unreachableSinceMs } = node
  return [
    id,
    {
      word: nodeWord(node),
      lastSeenAtMs,
      unknownSinceMs: health === 'down' ? (unreachableSinceMs ?? lastSeenAtMs) : null
    }
  ]
}

import { useMemo } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import { nodeWord } from '../../ui/status.tsx'
import type { Away, AwayOf } from './job-columns.tsx'
import { texts } from '../../../shared/texts/ui/jobs.ts'
import { isAway } from '../../../shared/node-health.ts'

/**
 * Tells which live jobs are on a node with problems. Uses the nodes when they are loaded, because a node that responds
 * again changes before its jobs do. Until then, uses the job's fields.
 */
export function useAway(nodes: readonly Node[] | undefined): AwayOf {
  // Nodes change every second, so re-render the rows only for changes that matter here.
  const awayText = JSON.stringify(nodes?.filter(({ health }) => isAway(health)).map(awayEntry) ?? [])
  const hasNodes = nodes !== undefined
  return useMemo(() => {
    const away = new Map(JSON.parse(awayText) as [string, Away][])
    return (job) => {
      if (job.nodeId === null || job.state === 'ended' || job.state === 'queued') return null
      const known = away.get(job.nodeId)
      if (known !== undefined) return known
      if (hasNodes || job.unknownSinceMs === null) return null
      return { word: texts.nodeDown, lastSeenAtMs: job.unknownSinceMs, unknownSinceMs: job.unknownSinceMs }
    }
  }, [awayText, hasNodes])
}

function awayEntry(node: Node): [string, Away] {
  const { id, lastSeenAtMs, unreachableSinceMs } = node
  return [id, { word: nodeWord(node), lastSeenAtMs, unknownSinceMs: unreachableSinceMs }]
}

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Node } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { RelativeTime } from '../../../ui/time.tsx'
import classes from './discovery.module.css'

/** Of a node that its source names no longer: since when, and whether that is why it is cordoned. */
export function WhyVanished({ node }: { node: Node }) {
  const { query } = useApi()
  const sources = useQuery(query.discovery.list.queryOptions()).data?.sources
  const source = sources?.find(({ id }) => id === node.sourceId)
  const vanished = source?.vanishedNodes.find(({ nodeId }) => nodeId === node.id)
  if (source === undefined || vanished === undefined) return null
  return (
    <p className={classes.why} role="note" aria-label="Named no longer">
      <Link to="/nodes/sources">{source.id}</Link> has not named it for <RelativeTime atMs={vanished.sinceMs} />
      {vanished.isCordonedForIt
        ? ': that is why it is cordoned. It is active again as soon as it is named.'
        : '. Its mode is yours, and stays when it is named again.'}
    </p>
  )
}

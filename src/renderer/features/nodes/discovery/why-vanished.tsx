import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Node } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { RelativeTime } from '../../../ui/time.tsx'
import classes from './discovery.module.css'

/** For a node that its source no longer lists: since when, and whether that is why it is cordoned. */
export function WhyVanished({ node }: { node: Node }) {
  const { query } = useApi()
  const sources = useQuery(query.discovery.list.queryOptions()).data?.sources
  const source = sources?.find(({ id }) => id === node.sourceId)
  const vanished = source?.vanishedNodes.find(({ nodeId }) => nodeId === node.id)
  if (source === undefined || vanished === undefined) return null
  return (
    <p className={`${classes.why} notice-wait`} role="note" aria-label="No longer listed">
      <Link to="/nodes/sources">{source.id}</Link> has not listed this node for <RelativeTime atMs={vanished.sinceMs} />
      {vanished.isCordonedForIt
        ? ', so it is cordoned. It becomes active when it is listed again.'
        : '. The mode that you set is kept.'}
    </p>
  )
}

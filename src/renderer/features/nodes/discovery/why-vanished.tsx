import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Node } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { RelativeTime } from '../../../ui/time.tsx'
import { texts } from '../../../../shared/texts/ui/nodes.ts'

export function WhyVanished({ node }: { node: Node }) {
  const { query } = useApi()
  const sources = useQuery(query.discovery.list.queryOptions()).data?.sources
  const source = sources?.find(({ id }) => id === node.sourceId)
  const vanished = source?.vanishedNodes.find(({ nodeId }) => nodeId === node.id)
  if (source === undefined || vanished === undefined) return null
  return (
    <p className="notice-wait" role="note" aria-label={texts.noLongerListed}>
      {(vanished.isCordonedForIt ? texts.whyVanishedCordoned : texts.whyVanishedModeKept)(
        <Link to="/nodes/sources">{source.id}</Link>,
        <RelativeTime atMs={vanished.sinceMs} />
      )}
    </p>
  )
}

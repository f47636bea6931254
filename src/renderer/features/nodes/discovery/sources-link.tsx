import { Button } from '@mantine/core'
import { IconAlertTriangle, IconRadar2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useApi } from '../../../api/api.tsx'

/** Links from the nodes to their sources, with an icon if a source has a problem. */
export function SourcesLink() {
  const { query } = useApi()
  const sources = useQuery(query.discovery.list.queryOptions()).data?.sources ?? []
  const hasProblem = sources.some(({ problem }) => problem !== null)
  return (
    <Button
      component={Link}
      to="/nodes/sources"
      leftSection={
        hasProblem ? (
          <IconAlertTriangle size={14} className="tone-wait" role="img" aria-label="A source has a problem" />
        ) : (
          <IconRadar2 size={14} aria-hidden />
        )
      }
    >
      Sources{sources.length > 0 && ` ${sources.length}`}
    </Button>
  )
}

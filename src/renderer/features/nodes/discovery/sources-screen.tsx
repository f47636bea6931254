import { ActionIcon, Badge, Button, Flex, Group, Tooltip } from '@mantine/core'
import { IconAlertTriangle, IconCheck, IconPlus, IconRadar2, IconRefresh, IconTrash } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { SourceState } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { useKeys } from '../../../state/keys.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { notifyError } from '../../../ui/notify.tsx'
import { joinFacts, plural } from '../../../ui/numbers.ts'
import { ScreenHead, PanelsScreen } from '../../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../../ui/states.tsx'
import { useMay } from '../../../api/use-me.ts'
import { RelativeTime } from '../../../ui/time.tsx'
import { useNodeName } from '../../../ui/use-node-name.ts'
import classes from './discovery.module.css'
import { SourceDialog } from './source-dialog.tsx'
import { sourceWords } from './source-form.ts'
import { texts } from '../../../../shared/texts/ui/nodes.ts'

/** Where nodes come from besides being added by hand: each source, its state and the nodes it no longer lists. */
export function SourcesScreen() {
  const { query } = useApi()
  const sources = useQuery(query.discovery.list.queryOptions())
  const [editing, setEditing] = useState<SourceState | 'new' | null>(null)
  const [removing, setRemoving] = useState<SourceState | null>(null)
  const { may } = useMay('nodes.change', 'everywhere')
  useKeys(texts.discoverySources, may ? [{ key: 'a', label: texts.addSource, run: () => setEditing('new') }] : [])
  const addButton = may && (
    <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={() => setEditing('new')}>
      {texts.addSource}
    </Button>
  )
  return (
    <PanelsScreen>
      <ScreenHead title={texts.discoverySources} note={sources.data && plural(sources.data.sources.length, 'source')}>
        <Button component={Link} to="/nodes">
          {texts.nodes}
        </Button>
        {addButton}
      </ScreenHead>
      <QueryState query={sources} what={texts.theSources} rows={3}>
        {(data) =>
          data.sources.length === 0 ? (
            <EmptyState icon={<IconRadar2 size={32} stroke={1.3} />} title={texts.noSources} action={addButton}>
              {texts.aDiscoverySourceAddsNodesAutomatically}
            </EmptyState>
          ) : (
            <Flex component="ul" direction="column" gap={10}>
              {data.sources.map((source) => (
                <SourceRow
                  key={source.id}
                  source={source}
                  onEdit={() => setEditing(source)}
                  onRemove={() => setRemoving(source)}
                />
              ))}
            </Flex>
          )
        }
      </QueryState>
      {editing !== null && (
        <SourceDialog source={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
      {removing !== null && <RemoveDialog source={removing} onClose={() => setRemoving(null)} />}
    </PanelsScreen>
  )
}

interface SourceRowProps {
  source: SourceState
  onEdit: () => void
  onRemove: () => void
}

function SourceRow({ source, onEdit, onRemove }: SourceRowProps) {
  const { query } = useApi()
  const { may } = useMay('nodes.change', 'everywhere')
  const refresh = useMutation(
    query.discovery.refresh.mutationOptions({
      onError: (error) => notifyError(texts.couldNotRefreshTheSource(source.id), error)
    })
  )
  const { id, problem, refreshedAtMs, found, isFromConfiguration } = source
  return (
    <li className={`${classes.source} card`} aria-label={texts.source(id)}>
      <Group gap={8} miw={0}>
        {problem === null ? (
          <IconCheck size={16} className="tone-ok" role="img" aria-label="OK" />
        ) : (
          <IconAlertTriangle size={16} className="tone-wait" role="img" aria-label="has a problem" />
        )}
        <strong>{id}</strong>
        <span className={`${classes.words} dim break`}>{sourceWords(source.source)}</span>
        {isFromConfiguration && (
          <Badge size="xs" variant="default" title={texts.setInTheConfigurationFileChanges}>
            {texts.configuration}
          </Badge>
        )}
        {may && (
          <Button
            size="compact-xs"
            leftSection={<IconRefresh size={12} />}
            loading={refresh.isPending}
            onClick={() => refresh.mutate({ id })}
            aria-label={texts.refreshNow2(id)}
          >
            {texts.refreshNow}
          </Button>
        )}
        {may && !isFromConfiguration && (
          <>
            <Button size="compact-xs" onClick={onEdit} aria-label={texts.edit2(id)}>
              {texts.edit}
            </Button>
            <Tooltip label={texts.remove}>
              <ActionIcon size="sm" onClick={onRemove} aria-label={texts.remove2(id)}>
                <IconTrash size={14} />
              </ActionIcon>
            </Tooltip>
          </>
        )}
      </Group>
      <p className={`${classes.facts} dim small`}>
        {plural(found, 'node')} found · {factsOf(source)} ·{' '}
        {refreshedAtMs === null ? (
          texts.notRefreshedYet
        ) : (
          <>
            refreshed <RelativeTime atMs={refreshedAtMs} suffix=" ago" />
          </>
        )}
      </p>
      {problem !== null && (
        <p className={`${classes.problem} break`} role="alert">
          {problem}
        </p>
      )}
      <Vanished source={source} />
    </li>
  )
}

function factsOf({ refreshSeconds, node, username }: SourceState): string {
  return joinFacts(
    texts.everyS(refreshSeconds),
    node.slots != null && plural(node.slots, 'slot'),
    node.group != null && texts.group2(node.group),
    node.tags !== undefined && node.tags.length > 0 && texts.tags2(node.tags.join(', ')),
    username != null && texts.user(username)
  )
}

function Vanished({ source }: { source: SourceState }) {
  const nodeName = useNodeName()
  if (source.vanishedNodes.length === 0) return null
  return (
    <ul className={`${classes.vanished} small`} aria-label={texts.nodesNoLongerListedBy(source.id)}>
      {source.vanishedNodes.map(({ nodeId, sinceMs, isCordonedForIt }) => (
        <li key={nodeId}>
          <Link to="/nodes" search={{ node: nodeId } as never}>
            {nodeName(nodeId)}
          </Link>{' '}
          not listed for <RelativeTime atMs={sinceMs} />
          {isCordonedForIt ? texts.cordonedUntilItIsListedAgain : texts.theModeThatYouSetIs}
        </li>
      ))}
    </ul>
  )
}

function RemoveDialog({ source, onClose }: { source: SourceState; onClose: () => void }) {
  const { query } = useApi()
  const { mutate, isPending, error } = useMutation(query.discovery.remove.mutationOptions({ onSuccess: onClose }))
  return (
    <ConfirmDialog
      title={texts.removeSource(source.id)}
      act={texts.remove3}
      onAct={() => mutate({ id: source.id })}
      isActing={isPending}
      error={error}
      onClose={onClose}
    >
      Its nodes stay in the fleet as if you had added them manually.{' '}
      {source.vanished > 0 && texts.nodeThatItNoLongerLists(source.vanished)}New nodes are no longer found.
    </ConfirmDialog>
  )
}

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
import { joinFacts } from '../../../ui/numbers.ts'
import { ScreenHead, PanelsScreen } from '../../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../../ui/states.tsx'
import { useMay } from '../../../api/use-me.ts'
import { RelativeTime } from '../../../ui/time.tsx'
import { useNodeName } from '../../../ui/use-node-name.ts'
import classes from './discovery.module.css'
import { SourceDialog } from './source-dialog.tsx'
import { sourceWords } from './source-form.ts'
import { texts } from '../../../../shared/texts/ui/nodes.ts'

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
      <ScreenHead title={texts.discoverySources} note={sources.data && texts.sourceCount(sources.data.sources.length)}>
        <Button component={Link} to="/nodes">
          {texts.nodes}
        </Button>
        {addButton}
      </ScreenHead>
      <QueryState query={sources} what={texts.theSources} rows={3}>
        {(data) =>
          data.sources.length === 0 ? (
            <EmptyState icon={<IconRadar2 size={32} stroke={1.3} />} title={texts.noSources} action={addButton}>
              {texts.noSourcesHint}
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
      onError: (error) => notifyError(texts.couldNotRefreshSource(source.id), error)
    })
  )
  const { id, problem, refreshedAtMs, isFromConfiguration } = source
  return (
    <li className={`${classes.source} card`} aria-label={texts.sourceLabel(id)}>
      <Group gap={8} miw={0}>
        {problem === null ? (
          <IconCheck size={16} className="tone-ok" role="img" aria-label={texts.sourceOk} />
        ) : (
          <IconAlertTriangle size={16} className="tone-wait" role="img" aria-label={texts.sourceWithProblem} />
        )}
        <strong>{id}</strong>
        <span className={`${classes.words} dim break`}>{sourceWords(source.source)}</span>
        {isFromConfiguration && (
          <Badge size="xs" variant="default" title={texts.fromConfigurationHint}>
            {texts.fromConfiguration}
          </Badge>
        )}
        {may && (
          <Button
            size="compact-xs"
            leftSection={<IconRefresh size={12} />}
            loading={refresh.isPending}
            onClick={() => refresh.mutate({ id })}
            aria-label={texts.refreshNowLabel(id)}
          >
            {texts.refreshNow}
          </Button>
        )}
        {may && !isFromConfiguration && (
          <>
            <Button size="compact-xs" onClick={onEdit} aria-label={texts.editLabel(id)}>
              {texts.editItem}
            </Button>
            <Tooltip label={texts.removeItem}>
              <ActionIcon size="sm" onClick={onRemove} aria-label={texts.removeLabel(id)}>
                <IconTrash size={14} />
              </ActionIcon>
            </Tooltip>
          </>
        )}
      </Group>
      <p className={`${classes.facts} dim small`}>
        {factsOf(source)} ·{' '}
        {refreshedAtMs === null ? texts.notRefreshedYet : texts.refreshedAgo(<RelativeTime atMs={refreshedAtMs} />)}
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

function factsOf({ found, refreshSeconds, node, username }: SourceState): string {
  return joinFacts(
    texts.nodesFound(found),
    texts.everySeconds(refreshSeconds),
    node.slots != null && texts.slotCount(node.slots),
    node.group != null && texts.groupFact(node.group),
    node.tags !== undefined && node.tags.length > 0 && texts.tagsFact(node.tags.join(', ')),
    username != null && texts.userFact(username)
  )
}

function Vanished({ source }: { source: SourceState }) {
  const nodeName = useNodeName()
  if (source.vanishedNodes.length === 0) return null
  return (
    <ul className={`${classes.vanished} small`} aria-label={texts.vanishedNodesLabel(source.id)}>
      {source.vanishedNodes.map(({ nodeId, sinceMs, isCordonedForIt }) => (
        <li key={nodeId}>
          {(isCordonedForIt ? texts.vanishedCordoned : texts.vanishedModeKept)(
            <Link to="/nodes" search={{ node: nodeId } as never}>
              {nodeName(nodeId)}
            </Link>,
            <RelativeTime atMs={sinceMs} />
          )}
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
      title={texts.removeSourceTitle(source.id)}
      act={texts.remove}
      onAct={() => mutate({ id: source.id })}
      isActing={isPending}
      error={error}
      onClose={onClose}
    >
      {source.vanished > 0 ? texts.removeSourceCordonedHint(source.vanished) : texts.removeSourceHint}
    </ConfirmDialog>
  )
}

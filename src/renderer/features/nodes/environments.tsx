import { Button, Group, Menu, Stack } from '@mantine/core'
import { IconFileText, IconRefresh, IconTrash } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Environment } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { BuildLogDialog } from '../../ui/build-log-dialog.tsx'
import {
  StepProgress,
  EnvironmentStateText,
  environmentName,
  pythonWords,
  StartModeText
} from '../../ui/environment.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { RebuildButton, useRebuild } from '../../ui/rebuild-button.tsx'
import { QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './environments.module.css'
import { texts } from '../../../shared/texts/ui/nodes.ts'

interface EnvironmentsProps {
  openLog: string | undefined
  onLog: (id: string | undefined) => void
}

export function Environments({ openLog, onLog }: EnvironmentsProps) {
  const { query } = useApi()
  const environments = useQuery(query.environments.list.queryOptions())
  return (
    <section className={classes.environments} aria-label={texts.environments}>
      <QueryState query={environments} what={texts.theEnvironments} rows={3}>
        {({ environments: list }) => (
          <>
            <h2>{list.length > 0 && texts.environmentCount(list.length)}</h2>
            <ul>
              {list.toSorted(byUrgency).map((environment) => (
                <EnvironmentItem key={environment.id} environment={environment} onLog={() => onLog(environment.id)} />
              ))}
            </ul>
          </>
        )}
      </QueryState>
      {openLog !== undefined && <BuildLogDialog id={openLog} onClose={() => onLog(undefined)} />}
    </section>
  )
}

function byUrgency(left: Environment, right: Environment): number {
  return rankOf(left) - rankOf(right)
}

function rankOf({ state, kind, projects }: Environment): number {
  if (state === 'failed') return 0
  if (state === 'building') return 1
  if (kind === 'main') return 2
  return projects.length > 0 ? 3 : 4
}

function EnvironmentItem({ environment, onLog }: { environment: Environment; onLog: () => void }) {
  const [removing, setRemoving] = useState(false)
  const name = environmentName(environment)
  const { rebuild } = useRebuild(environment)
  const { kind, state, path, version, projects, hasLog, madeAtMs, problem, start } = environment
  const isUsed = projects.length > 0
  return (
    <li aria-label={name}>
      <header className="line">
        <strong className="ellipsis grow semibold" title={path ?? undefined}>
          {kind === 'interpreter' ? <span className="mono">{path}</span> : name}
        </strong>
        <EnvironmentStateText environment={environment} />
        <MoreMenu label={texts.moreFor(name)} size={22}>
          <Menu.Item leftSection={<IconFileText size={14} />} disabled={!hasLog} onClick={onLog}>
            {texts.buildLog}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconRefresh size={14} />}
            disabled={kind === 'interpreter' || state === 'building'}
            title={kind === 'interpreter' ? texts.notBuiltHere : undefined}
            onClick={rebuild}
          >
            {texts.rebuild}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconTrash size={14} />}
            color="red"
            disabled={isUsed || kind === 'main' || state === 'building'}
            title={
              kind === 'main' ? texts.mainEnvironmentHint : isUsed ? texts.usedByHint(projects.join(', ')) : undefined
            }
            onClick={() => setRemoving(true)}
          >
            {texts.removeItem}
          </Menu.Item>
        </MoreMenu>
      </header>
      {/* The previous build stays in use during a rebuild and after a failed one. */}
      {version !== null && (
        <Group align="stretch" gap="2px 14px">
          <span>{pythonWords(environment)}</span>
          {state === 'ready' && <StartModeText start={start} isBrief />}
        </Group>
      )}
      {state === 'building' && (
        <div className={classes.building}>
          <StepProgress progress={environment.progress} />
          <Button onClick={onLog}>{texts.buildLog}</Button>
        </div>
      )}
      {problem !== null && (
        <Stack align="flex-start" gap={6} className={`${classes.problem} notice-bad break`} role="alert">
          {problem}
          <Group gap={8}>
            {hasLog && <Button onClick={onLog}>{texts.buildLog}</Button>}
            <RebuildButton environment={environment} />
          </Group>
        </Stack>
      )}
      <p className="dim quiet-links">
        {isUsed ? (
          projects.map((project, index) => (
            <span key={project}>
              {index > 0 && ', '}
              <Link to="/projects" search={{ project }}>
                {project}
              </Link>
            </span>
          ))
        ) : kind === 'main' ? (
          texts.defaultForProjects
        ) : (
          <span>{texts.unused}</span>
        )}
        {madeAtMs !== null && <> · {texts.builtAgo(<RelativeTime atMs={madeAtMs} />)}</>}
      </p>
      {removing && <RemoveDialog environment={environment} onClose={() => setRemoving(false)} />}
    </li>
  )
}

/** Packages cannot be restored exactly, so this asks for confirmation and offers no Undo. */
function RemoveDialog({ environment, onClose }: { environment: Environment; onClose: () => void }) {
  const { query } = useApi()
  const name = environmentName(environment)
  const { mutate, isPending, error } = useMutation(
    query.environments.remove.mutationOptions({
      onSuccess: () => {
        onClose()
        notifyDone(texts.wasRemoved(name))
      }
    })
  )
  return (
    <ConfirmDialog
      title={texts.askRemove(name)}
      act={texts.remove}
      onAct={() => mutate({ id: environment.id })}
      isActing={isPending}
      error={error}
      keep={texts.keepIt}
      onClose={onClose}
    >
      {environment.kind === 'interpreter' ? texts.removeInterpreterHint : texts.removeEnvironmentHint}
    </ConfirmDialog>
  )
}

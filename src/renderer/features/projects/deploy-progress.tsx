import { Button, Flex, Group, Loader, Progress } from '@mantine/core'
import { IconCheck, IconX } from '@tabler/icons-react'
import type { Deployment } from '../../../shared/contract/index.ts'
import { ErrorState } from '../../ui/states.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import classes from './projects.module.css'
import type { Deploy } from './use-deploy.ts'
import { texts } from '../../../shared/texts/ui/projects.ts'

export function DeployProgress({ deploy, expected }: { deploy: Deploy; expected: number }) {
  const nameOf = useNodeName()
  const rows = [...deploy.deployments.values()]
  const failed = rows.filter(({ state }) => state === 'failed')
  const done = rows.filter(({ state }) => state !== 'sending').length
  const total = Math.max(expected, rows.length)
  const shareOf = (count: number) => (total === 0 ? 0 : (count / total) * 100)
  const isOver = !deploy.isRunning && rows.length > 0
  return (
    <Flex component="section" direction="column" gap={8} my={8} aria-label={texts.deploy}>
      <Group gap={8} justify="space-between" wrap="nowrap" mih={28}>
        <strong role="status">
          {isOver
            ? failed.length === 0
              ? texts.deployedToAll(rows.length)
              : texts.deployedToSome(rows.length - failed.length, rows.length)
            : texts.sendingProgress(done, total)}
        </strong>
        {isOver && failed.length > 0 && (
          <Button onClick={() => deploy.start(failed.map(({ nodeId }) => nodeId))}>
            {failed.length === 1
              ? texts.retryNode(nameOf((failed[0] as Deployment).nodeId))
              : texts.retryFailedNodes(failed.length)}
          </Button>
        )}
      </Group>
      <Progress.Root aria-hidden>
        <Progress.Section value={shareOf(done - failed.length)} color="var(--ok)" />
        <Progress.Section value={shareOf(failed.length)} color="var(--bad)" />
      </Progress.Root>
      {deploy.error !== null && (
        <ErrorState what={texts.theProgress} error={deploy.error} onRetry={() => deploy.start()} />
      )}
      <ul className={classes.deployNodes}>
        {rows
          .sort((left, right) => Number(right.state === 'failed') - Number(left.state === 'failed'))
          .map(({ nodeId, state, error }) => (
            <li key={nodeId} className="line">
              {state === 'sending' && <Loader size={12} aria-label={texts.sending} />}
              {state === 'present' && <IconCheck size={14} className="tone-ok" role="img" aria-label={texts.present} />}
              {state === 'failed' && <IconX size={14} className="tone-bad" role="img" aria-label={texts.failed} />}
              <span>{nameOf(nodeId)}</span>
              {error !== null && <span className="right grow dim">{error}</span>}
            </li>
          ))}
      </ul>
    </Flex>
  )
}

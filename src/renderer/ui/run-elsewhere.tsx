import { Button, Group, Modal } from '@mantine/core'
import { useState } from 'react'
import type { NodeId } from '../../shared/contract/index.ts'
import { DialogText } from './dialog.tsx'
import { useApi } from '../api/api.tsx'
import type { Client } from '../api/wire.ts'
import { notifyDone, notifyError } from './notify.tsx'
import { plural } from './numbers.ts'

/** Gives up what is live on a node that does not answer, after saying what that means. */
export function RunElsewhereButton({ nodeId, nodeName }: { nodeId: NodeId; nodeName: string }) {
  const { client } = useApi()
  const [ids, setIds] = useState<string[] | null>(null)
  const [isBusy, setBusy] = useState(false)
  const ask = async () => {
    setBusy(true)
    try {
      setIds(await liveOn(client, nodeId))
    } catch (error) {
      notifyError(`Could not load the live jobs of ${nodeName}`, error)
    } finally {
      setBusy(false)
    }
  }
  const giveUp = async () => {
    const asked = ids ?? []
    setIds(null)
    try {
      const { changed } = await client.jobs.runElsewhere({ ids: asked })
      notifyDone(
        changed.length === 0
          ? `Nothing was changed: ${nodeName} is reachable again, or its jobs have ended.`
          : `${plural(changed.length, 'job')} of ${nodeName} queued for other nodes.`
      )
    } catch (error) {
      notifyError(`Could not run the jobs of ${nodeName} elsewhere`, error)
    }
  }
  return (
    <>
      <Button loading={isBusy} onClick={() => void ask()}>
        Run elsewhere
      </Button>
      <Modal opened={ids !== null} onClose={() => setIds(null)} title={`Run jobs of ${nodeName} elsewhere?`}>
        {ids?.length === 0 ? (
          <DialogText>There are no live jobs on {nodeName}.</DialogText>
        ) : (
          <DialogText>
            {plural(ids?.length ?? 0, 'job')} {ids?.length === 1 ? 'was' : 'were'} live on {nodeName} when it was heard
            last. {ids?.length === 1 ? 'It is' : 'They are'} queued again for other nodes. If{' '}
            {ids?.length === 1 ? 'it still runs' : 'they still run'} there, {ids?.length === 1 ? 'it runs' : 'they run'}{' '}
            twice; the jobs are flagged so.
          </DialogText>
        )}
        <Group justify="flex-end" gap={8} mt={14}>
          <Button onClick={() => setIds(null)}>{ids?.length === 0 ? 'Close' : 'Cancel'}</Button>
          {ids?.length !== 0 && (
            <Button variant="filled" color="red" onClick={() => void giveUp()} data-autofocus>
              Run elsewhere
            </Button>
          )}
        </Group>
      </Modal>
    </>
  )
}

async function liveOn(client: Client, nodeId: NodeId): Promise<string[]> {
  const ids: string[] = []
  let before: string | undefined
  do {
    const page = await client.jobs.list({ nodeId, status: ['starting', 'running'], before, limit: 500 })
    ids.push(...page.jobs.map(({ id }) => id))
    before = page.nextBefore ?? undefined
  } while (before !== undefined && ids.length < 10_000)
  return ids.slice(0, 10_000)
}

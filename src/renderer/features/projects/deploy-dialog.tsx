import { Button, Checkbox, Flex } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Node, Version } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { Dialog, DialogFoot } from '../../ui/dialog.tsx'
import { NodeHealthDot, nodeWord } from '../../ui/status.tsx'
import { DeployProgress } from './deploy-progress.tsx'
import classes from './projects.module.css'
import { useDeploy } from './use-deploy.ts'
import { texts } from '../../../shared/texts/ui/projects.ts'

export function DeployDialog({ version, onClose }: { version: Version; onClose: () => void }) {
  const api = useApi()
  const nodes = useQuery(api.query.nodes.list.queryOptions()).data?.nodes ?? []
  const deploy = useDeploy(version.project, version.version)
  const present = new Set(version.deployments.filter(({ state }) => state === 'present').map(({ nodeId }) => nodeId))
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null)
  const picked = chosen ?? new Set(nodes.filter(({ id }) => !present.has(id)).map(({ id }) => id))
  const [sentCount, setSentCount] = useState<number | null>(null)
  const toggle = (id: string) => {
    const next = new Set(picked)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  const start = () => {
    const nodeIds = nodes.filter(({ id }) => picked.has(id)).map(({ id }) => id)
    setSentCount(nodeIds.length)
    deploy.start(nodeIds)
  }
  return (
    <Dialog opened onClose={onClose} title={texts.deployTitle(version.project, version.version)} size={520}>
      {sentCount !== null ? (
        <DeployProgress deploy={deploy} expected={sentCount} />
      ) : (
        <>
          <Checkbox
            className={classes.allNodes}
            label={texts.allNodesCount(nodes.length)}
            checked={nodes.length > 0 && picked.size === nodes.length}
            indeterminate={picked.size > 0 && picked.size < nodes.length}
            onChange={() => setChosen(picked.size === nodes.length ? new Set() : new Set(nodes.map(({ id }) => id)))}
          />
          <ul className={classes.nodeChoice}>
            {nodes
              .toSorted((left, right) => Number(present.has(left.id)) - Number(present.has(right.id)))
              .map((node) => (
                <li key={node.id}>
                  <Checkbox
                    checked={picked.has(node.id)}
                    onChange={() => toggle(node.id)}
                    label={<NodeLabel node={node} isThere={present.has(node.id)} />}
                  />
                </li>
              ))}
          </ul>
        </>
      )}
      <DialogFoot>
        <Button onClick={onClose}>{sentCount === null ? texts.cancel : texts.close}</Button>
        {sentCount === null && (
          <Button variant="filled" disabled={picked.size === 0} onClick={start}>
            {texts.deployToNodes(picked.size)}
          </Button>
        )}
      </DialogFoot>
    </Dialog>
  )
}

function NodeLabel({ node, isThere }: { node: Node; isThere: boolean }) {
  const word = nodeWord(node)
  return (
    <Flex component="span" display="inline-flex" align="center" gap={7} fz={13}>
      <NodeHealthDot node={node} /> {node.name}
      <span className="faint">{[isThere && texts.present, word !== 'up' && word].filter(Boolean).join(', ')}</span>
    </Flex>
  )
}

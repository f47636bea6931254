import { ActionIcon, Menu } from '@mantine/core'
import { IconDots, IconDownload, IconPlayerStop } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import type { Node, NodeRun } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyDone, notifyError } from '../../ui/notify.tsx'

/** A job that somebody else started there, and what can be done about it. */
export function ExternalRun({ node, run }: { node: Node; run: NodeRun }) {
  const { client } = useApi()
  const navigate = useNavigate()
  const name = `${run.project}/${run.spider}`
  const where = { id: node.id, project: run.project, jobid: run.jobid }
  const cancel = async () => {
    try {
      const { wasState } = await client.nodes.cancelExternal(where)
      notifyDone(
        wasState === null
          ? `${name} has already ended.`
          : wasState === 'pending'
            ? `${name} was removed from the queue of ${node.name}.`
            : `Cancel of ${name} on ${node.name} requested. Cancel again to kill it.`
      )
    } catch (error) {
      notifyError(`Could not cancel ${name} on ${node.name}`, error)
    }
  }
  const adopt = async () => {
    try {
      const job = await client.nodes.adoptExternal(where)
      notifyDone(`${name} was adopted.`)
      void navigate({ to: '/jobs', search: { job: job.id } })
    } catch (error) {
      notifyError(`Could not adopt ${name}`, error)
    }
  }
  return (
    <>
      <span className="ellipsis" title={`Job ID ${run.jobid}, not started by Scrapdeck`}>
        {name} <span className="faint">external</span>
      </span>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon size={20} aria-label={`More for ${name}, external`}>
            <IconDots size={14} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconDownload size={14} />} onClick={() => void adopt()}>
            Adopt job
          </Menu.Item>
          <Menu.Item leftSection={<IconPlayerStop size={14} />} color="red" onClick={() => void cancel()}>
            Cancel
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  )
}

import { Menu } from '@mantine/core'
import { IconDownload, IconPlayerStop } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Node, NodeRun } from '../../../shared/contract/index.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { cancelExternal, externalName } from '../../state/cancel-external.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notifyDone, notifyError } from '../../ui/notify.tsx'

/** An external job on a node, with its actions. */
export function ExternalRun({ node, run }: { node: Node; run: NodeRun }) {
  const { client, query } = useApi()
  const mayAdopt = useMay('jobs.run', run).may
  const mayCancel = useMay('jobs.cancel', run).may
  const navigate = useNavigate()
  const name = externalName(run)
  const where = { id: node.id, project: run.project, jobid: run.jobid }
  const adopt = useMutation(
    query.nodes.adoptExternal.mutationOptions({
      onSuccess: (job) => {
        notifyDone(`${name} was adopted.`)
        void navigate({ to: '/jobs', search: { job: job.id } })
      },
      onError: (error) => notifyError(`Could not adopt ${name}`, error)
    })
  )
  return (
    <>
      <span className="ellipsis" title={`Job ID ${showUnseen(run.jobid)}, not started by Scrapdeck`}>
        {name} <span className="faint">external</span>
      </span>
      {(mayAdopt || mayCancel) && (
        <MoreMenu label={`More for ${name}, external`} size={20}>
          {mayAdopt && (
            <Menu.Item leftSection={<IconDownload size={14} />} onClick={() => adopt.mutate(where)}>
              Adopt job
            </Menu.Item>
          )}
          {mayCancel && (
            <Menu.Item
              leftSection={<IconPlayerStop size={14} />}
              color="red"
              onClick={() => cancelExternal(client, node, run)}
            >
              Cancel
            </Menu.Item>
          )}
        </MoreMenu>
      )}
    </>
  )
}

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
import { texts } from '../../../shared/texts/ui/nodes.ts'

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
        notifyDone(texts.wasAdopted(name))
        void navigate({ to: '/jobs', search: { job: job.id } })
      },
      onError: (error) => notifyError(texts.couldNotAdopt(name), error)
    })
  )
  return (
    <>
      <span className="ellipsis" title={texts.externalHint(showUnseen(run.jobid))}>
        {name} <span className="faint">{texts.external}</span>
      </span>
      {(mayAdopt || mayCancel) && (
        <MoreMenu label={texts.moreForExternal(name)} size={20}>
          {mayAdopt && (
            <Menu.Item leftSection={<IconDownload size={14} />} onClick={() => adopt.mutate(where)}>
              {texts.adoptJob}
            </Menu.Item>
          )}
          {mayCancel && (
            <Menu.Item
              leftSection={<IconPlayerStop size={14} />}
              color="red"
              onClick={() => cancelExternal(client, node, run)}
            >
              {texts.cancel}
            </Menu.Item>
          )}
        </MoreMenu>
      )}
    </>
  )
}

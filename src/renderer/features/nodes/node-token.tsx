import { Dialog } from '../../ui/dialog.tsx'
import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { Node } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { notifyError } from '../../ui/notify.tsx'
import { PullingSetup } from './pulling-setup.tsx'
import { texts } from '../../../shared/texts/ui/nodes.ts'

export function NodeToken({ node }: { node: Node }) {
  const { query } = useApi()
  const onError = (error: unknown) => notifyError(texts.couldNotChangeToken(node.name), error)
  const { may } = useMay('nodes.change', node)
  const renew = useMutation(query.nodes.renewToken.mutationOptions({ onError }))
  const revoke = useMutation(query.nodes.revokeToken.mutationOptions({ onError }))
  return (
    <>
      <Group gap={8}>
        <span className={node.hasToken ? undefined : 'tone-bad'}>
          {node.hasToken ? texts.tokenValid : texts.tokenRevoked}
        </span>
        {may && (
          <Button
            size="compact-xs"
            loading={renew.isPending}
            onClick={() => renew.mutate({ id: node.id })}
            title={texts.newTokenHint}
          >
            {texts.newToken}
          </Button>
        )}
        {may && node.hasToken && (
          <Button
            size="compact-xs"
            color="red"
            variant="subtle"
            loading={revoke.isPending}
            onClick={() => revoke.mutate({ id: node.id })}
            title={texts.revokeHint}
          >
            {texts.revoke}
          </Button>
        )}
      </Group>
      {renew.data !== undefined && (
        <Dialog opened onClose={() => renew.reset()} title={texts.newTokenTitle(node.name)} size={760}>
          <PullingSetup name={node.name} token={renew.data.token} onDone={() => renew.reset()} />
        </Dialog>
      )}
    </>
  )
}

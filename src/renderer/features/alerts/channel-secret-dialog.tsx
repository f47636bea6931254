import { Button } from '@mantine/core'
import type { AlertChannel } from '../../../shared/contract/index.ts'
import { CopyText } from '../../ui/copy-button.tsx'
import { Dialog, DialogFoot, DialogText } from '../../ui/dialog.tsx'

/** Shown once: afterwards only the engine knows it. */
export function ChannelSecretDialog(props: { channel: AlertChannel; secret: string; onClose: () => void }) {
  const { channel, secret, onClose } = props
  return (
    <Dialog opened onClose={onClose} title={`${channel.name} was added`} size={520} closeOnClickOutside={false}>
      <DialogText>
        Requests are signed with this secret as defined by Standard Webhooks. Copy it to the receiver now: it is not
        shown again.
      </DialogText>
      <p>
        <CopyText value={secret} what="the secret" />
      </p>
      <DialogFoot>
        <Button variant="filled" onClick={onClose}>
          I have saved it
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

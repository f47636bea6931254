import { Button } from '@mantine/core'
import type { Webhook } from '../../../shared/contract/index.ts'
import { Dialog, DialogFoot, DialogText } from '../../ui/dialog.tsx'
import { CopyText } from '../../ui/copy-button.tsx'
import classes from './webhooks.module.css'

/** Shown once: afterwards only the engine knows it. */
export function SecretDialog(props: { webhook: Webhook; secret: string; isNew: boolean; onClose: () => void }) {
  const { webhook, secret, isNew, onClose } = props
  return (
    <Dialog
      opened
      onClose={onClose}
      title={isNew ? `${webhook.name} was added` : `New secret of ${webhook.name}`}
      size={520}
      closeOnClickOutside={false}
    >
      <DialogText>
        Requests are signed with this secret as defined by Standard Webhooks. Copy it to the receiver now: it is not
        shown again.
      </DialogText>
      <div className={classes.secret}>
        <CopyText value={secret} what="the secret" />
      </div>
      <DialogFoot>
        <Button variant="filled" onClick={onClose}>
          I have saved it
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

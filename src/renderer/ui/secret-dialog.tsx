import { Button, Group } from '@mantine/core'
import { CopyText } from './copy-button.tsx'
import { Dialog, DialogFoot, DialogText } from './dialog.tsx'
import classes from './secret-dialog.module.css'

/** The secret of a webhook, shown once: afterwards only the engine knows it. */
export function SecretDialog({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) {
  return (
    <Dialog opened onClose={onClose} title={title} size={520} closeOnClickOutside={false}>
      <DialogText>
        Requests are signed with this secret as defined by Standard Webhooks. Copy it to the receiver now: it is not
        shown again.
      </DialogText>
      <Group gap={10} wrap="nowrap" className={classes.secret}>
        <CopyText value={secret} what="the secret" />
      </Group>
      <DialogFoot>
        <Button variant="filled" onClick={onClose}>
          I have saved it
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

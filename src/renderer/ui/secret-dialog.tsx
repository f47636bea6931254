import { Button, Group } from '@mantine/core'
import { CopyText } from './copy-button.tsx'
import { Dialog, DialogFoot, DialogText } from './dialog.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

/** Shows a secret once: the engine never returns it again. */
export function SecretDialog({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) {
  return (
    <Dialog opened onClose={onClose} title={title} size={520} closeOnClickOutside={false}>
      <DialogText>{texts.webhookSecretHint}</DialogText>
      <Group gap={10} wrap="nowrap" mb={14} className="well">
        <CopyText value={secret} what={texts.theSecret} />
      </Group>
      <DialogFoot>
        <Button variant="filled" onClick={onClose}>
          {texts.secretSaved}
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

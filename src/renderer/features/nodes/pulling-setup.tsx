import { Alert, Button, Stack } from '@mantine/core'
import { pullingSetup } from '../../../shared/pulling-setup.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import classes from './pulling-setup.module.css'
import { texts } from '../../../shared/texts/ui/nodes.ts'

/** The steps on the server. They are shown once, because they contain the token. */
export function PullingSetup({ name, token, onDone }: { name: string; token: string; onDone: () => void }) {
  const { commands, configuration } = pullingSetup({ address: addressHere(), token })
  return (
    <Stack align="flex-start" gap={12} className={classes.setup}>
      <Alert color="yellow" title={texts.tokenTitle}>
        {texts.tokenHint(name)}
      </Alert>
      <Step title={texts.commandsTitle} text={commands} what={texts.theCommands} />
      <Step title={texts.configurationTitle} text={configuration} what={texts.theConfiguration} />
      <Button variant="filled" onClick={onDone}>
        {texts.done}
      </Button>
    </Stack>
  )
}

function Step({ title, text, what }: { title: string; text: string; what: string }) {
  return (
    <section aria-label={title}>
      <p className={classes.title}>
        {title} <CopyButton value={text} what={what} />
      </p>
      <pre className={`${classes.text} box small`}>{text}</pre>
    </section>
  )
}

/** Returns a placeholder in the desktop, because nodes cannot use the address of the desktop's page. */
function addressHere(): string {
  return /^https?:$/.test(location.protocol) ? location.origin : 'https://SCRAPDECK-ADDRESS'
}

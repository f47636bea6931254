import { Alert, Button, Stack } from '@mantine/core'
import { pullingSetup } from '../../../shared/pulling-setup.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import classes from './pulling-setup.module.css'

/** What to do on the server, once: the token is never shown again. */
export function PullingSetup({ name, token, onDone }: { name: string; token: string; onDone: () => void }) {
  const { commands, configuration } = pullingSetup({ address: addressHere(), token })
  return (
    <Stack align="flex-start" gap={12} className={classes.setup}>
      <Alert color="yellow" title="This token is shown only once">
        It lets a Scrapyd take jobs as {name}. If it gets lost, create a new token; the old one is then refused.
      </Alert>
      <Step title="Run on the server, in the environment of its Scrapyd" text={commands} what="the commands" />
      <Step title="Add to its scrapyd.conf, then restart Scrapyd" text={configuration} what="the configuration" />
      <Button variant="filled" onClick={onDone}>
        Done
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

/** In the desktop, the page is not served by the address that nodes use. */
function addressHere(): string {
  return /^https?:$/.test(location.protocol) ? location.origin : 'https://SCRAPDECK-ADDRESS'
}

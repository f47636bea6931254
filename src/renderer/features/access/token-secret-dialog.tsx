import { Button, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { AccessToken } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { hasBrowserSession } from '../../api/browser-session.ts'
import { CopyButton, CopyText } from '../../ui/copy-button.tsx'
import { Dialog, DialogFoot, DialogText } from '../../ui/dialog.tsx'
import classes from './access.module.css'

export interface CreatedToken {
  token: AccessToken
  secret: string
  userName: string
}

/** Shown once: afterwards only its hash exists. */
export function TokenSecretDialog({ token, secret, userName, onClose }: CreatedToken & { onClose: () => void }) {
  const address = useAddress()
  const snippets = {
    API: `curl -H 'Authorization: Bearer ${secret}' \\\n  ${address}api/v1/users/me`,
    'scrapy.cfg': `[deploy:scrapdeck]\nurl = ${address}\nusername = ${userName}\npassword = ${secret}`
  }
  return (
    <Dialog opened onClose={onClose} title={`Token ${token.name} was created`} size={560} closeOnClickOutside={false}>
      <DialogText>Copy the token now: it is not shown again.</DialogText>
      <div className={classes.secret}>
        <CopyText value={secret} what="the token" />
      </div>
      <Tabs defaultValue="API" className={classes.snippets}>
        <Tabs.List>
          {Object.keys(snippets).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(snippets).map(([name, text]) => (
          <Tabs.Panel key={name} value={name} className={classes.snippet}>
            <pre className="mono">{text}</pre>
            <CopyButton value={text} what="with the token" />
          </Tabs.Panel>
        ))}
      </Tabs>
      <DialogFoot>
        <Button variant="filled" onClick={onClose}>
          I have saved it
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

/** Where programs reach this Scrapdeck: beside the page, or what the desktop says: its own page has no address. */
function useAddress(): string {
  const { query } = useApi()
  const isBrowser = hasBrowserSession()
  const { data } = useQuery(query.system.status.queryOptions({ enabled: !isBrowser }))
  return isBrowser ? new URL('..', document.baseURI).href : `${data?.address ?? 'http://SCRAPDECK'}/`
}

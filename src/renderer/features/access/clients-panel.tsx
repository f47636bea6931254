import { Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Me } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { CopyButton, CopyText } from '../../ui/copy-button.tsx'
import { LinkButton } from '../../ui/link-button.tsx'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './access.module.css'

/** How Scrapyd clients connect: with a token in place of the password, which is not readable here. */
export function ClientsPanel({ me: { name } }: { me: Me }) {
  const { query } = useApi()
  const status = useQuery(query.system.status.queryOptions())
  return (
    <Panel
      title="Scrapyd clients"
      note="the fleet acts as one Scrapyd server"
      aside={<LinkButton to="/access">Create a token</LinkButton>}
    >
      <QueryState query={status} what="the address" rows={4}>
        {({ address }) => <ClientsView address={address} username={name} />}
      </QueryState>
    </Panel>
  )
}

function ClientsView({ address, username }: { address: string | null; username: string }) {
  const url = address ?? window.location.origin
  const snippets = {
    'scrapy.cfg': [
      `[deploy:scrapdeck]\nurl = ${url}/\nusername = ${username}\npassword = TOKEN`,
      'Append this to the scrapy.cfg of a project. Then "scrapyd-deploy scrapdeck" uploads the egg to Scrapdeck, which deploys it to the nodes.'
    ],
    curl: [
      `curl -u ${username}:TOKEN ${url}/schedule.json -d project=YOUR_PROJECT -d spider=YOUR_SPIDER`,
      'The job is queued here and sent to the first node with a free slot.'
    ]
  } as const
  return (
    <>
      {address === null && (
        <p className="dim">
          Scrapdeck is not listening for HTTP requests, so Scrapyd clients cannot connect. Start it with `npm run serve`
          to open one.
        </p>
      )}
      <FieldRow label="Address">
        <CopyText value={url} what="the address" />
      </FieldRow>
      <FieldRow label="Password">a token; the user name can be any</FieldRow>
      <Tabs defaultValue="scrapy.cfg" mt={10}>
        <Tabs.List>
          {Object.keys(snippets).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(snippets).map(([name, [text, words]]) => (
          <Tabs.Panel key={name} value={name}>
            <div className={classes.snippet}>
              <pre className="mono">{text}</pre>
              <CopyButton value={text} what={`this for ${name}`} />
              <p className="dim">{words}</p>
            </div>
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  )
}

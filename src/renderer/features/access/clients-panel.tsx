import { Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Me } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { CopyButton, CopyText } from '../../ui/copy-button.tsx'
import { LinkButton } from '../../ui/link-button.tsx'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './access.module.css'
import { texts } from '../../../shared/texts/ui/access.ts'

/** Shows how Scrapyd clients connect: with a token, because this page cannot read the password. */
export function ClientsPanel({ me: { name } }: { me: Me }) {
  const { query } = useApi()
  const status = useQuery(query.system.status.queryOptions())
  return (
    <Panel
      title={texts.scrapydClients}
      note={texts.scrapydClientsNote}
      aside={<LinkButton to="/access">{texts.createTokenLink}</LinkButton>}
    >
      <QueryState query={status} what={texts.theAddress} rows={4}>
        {({ address }) => <ClientsView address={address} username={name} />}
      </QueryState>
    </Panel>
  )
}

function ClientsView({ address, username }: { address: string | null; username: string }) {
  const url = address ?? window.location.origin
  const snippets = {
    'scrapy.cfg': [texts.scrapyCfgSnippet(url, username), texts.scrapyCfgHint],
    curl: [texts.curlSnippet(username, url), texts.curlHint]
  } as const
  return (
    <>
      {address === null && <p className="dim">{texts.notListening}</p>}
      <FieldRow label={texts.address}>
        <CopyText value={url} what={texts.theAddress} />
      </FieldRow>
      <FieldRow label={texts.password}>{texts.tokenAsPassword}</FieldRow>
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
              <CopyButton value={text} what={texts.snippetFor(name)} />
              <p className="dim">{words}</p>
            </div>
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  )
}

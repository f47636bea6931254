import { ActionIcon, SegmentedControl, Tabs, useMantineColorScheme } from '@mantine/core'
import { IconCheck, IconEye, IconEyeOff } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Credentials } from '../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { useApi } from '../api/api.tsx'
import { WebhooksPanel } from '../features/webhooks/webhooks-panel.tsx'
import { CopyButton, CopyText } from '../ui/copy-button.tsx'
import { StartModeText } from '../ui/environment.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { FieldRow, Panel, ScreenHead } from '../ui/panel.tsx'
import { CreateEnvironment } from '../ui/python-environment.tsx'
import { QueryState } from '../ui/states.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { KeyList } from './keys-overlay.tsx'
import classes from './settings-screen.module.css'
import { optionsOf } from '../ui/fields/options.ts'

export function SettingsScreen() {
  const { query } = useApi()
  const status = useQuery(query.system.status.queryOptions())
  const credentials = useQuery(query.system.credentials.queryOptions())
  return (
    <div className={classes.screen}>
      <ScreenHead
        title="Settings"
        note={
          status.data && (
            <>
              Scrapdeck {status.data.scrapdeckVersion} · started{' '}
              <RelativeTime atMs={status.data.startedAtMs} suffix=" ago" />
            </>
          )
        }
      />
      <Panel title="Scrapyd clients" note="the fleet acts as one Scrapyd server">
        <QueryState query={credentials} what="the credentials" rows={4}>
          {(data) => <CredentialsView credentials={data} />}
        </QueryState>
      </Panel>
      <WebhooksPanel />
      <Panel
        title="Python on the local node"
        aside={
          <LinkButton to="/nodes" search={{ node: LOCAL_NODE_ID }} variant="subtle" size="compact-xs">
            Open node
          </LinkButton>
        }
      >
        <QueryState query={status} what="the state of Python" rows={3}>
          {({ python }) =>
            python.state === 'ready' ? (
              <>
                <FieldRow label="Scrapy">
                  <IconCheck size={14} className={`tone-ok ${classes.inline}`} aria-hidden /> {python.scrapyVersion}
                </FieldRow>
                <FieldRow label="Python">{python.version}</FieldRow>
                <FieldRow label="Path">
                  <span className="mono">{python.path}</span>
                </FieldRow>
                <FieldRow label="Start mode">
                  <StartModeText start={python.start} />
                </FieldRow>
              </>
            ) : (
              <div className={classes.python}>
                <p>{python.state === 'checking' ? 'Looking for Python and Scrapy…' : python.problem}</p>
                {python.state !== 'checking' && <CreateEnvironment primary />}
              </div>
            )
          }
        </QueryState>
      </Panel>
      <Panel title="Node credentials">
        <QueryState query={status} what="the credential storage" rows={1}>
          {({ secrets }) => (
            <FieldRow label={secrets.store === 'keychain' ? 'In the keychain' : 'In a file'}>{secrets.text}</FieldRow>
          )}
        </QueryState>
      </Panel>
      <Panel title="Appearance">
        <AppearanceChoice />
      </Panel>
      <Panel title="Keyboard shortcuts" note="press ? on a screen to see its own">
        <KeyList />
      </Panel>
    </div>
  )
}

function CredentialsView({ credentials }: { credentials: Credentials }) {
  const { username, password } = credentials
  const address = credentials.address ?? window.location.origin
  const [shown, setShown] = useState(false)
  return (
    <>
      {credentials.address === null && (
        <p className="dim">
          Scrapdeck is not listening for HTTP requests, so Scrapyd clients cannot connect. Start it with `npm run serve`
          to open one.
        </p>
      )}
      <FieldRow label="Address">
        <CopyText value={address} what="the address" />
      </FieldRow>
      <FieldRow label="User name">
        <CopyText value={username} what="the user name" />
      </FieldRow>
      <FieldRow label="Password">
        <span className="mono">{shown ? password : '••••••••••••'}</span>{' '}
        <ActionIcon
          size={20}
          className={classes.eye}
          onClick={() => setShown(!shown)}
          aria-label={shown ? 'Hide password' : 'Show password'}
        >
          {shown ? <IconEyeOff size={14} /> : <IconEye size={14} />}
        </ActionIcon>{' '}
        <CopyButton value={password} what="the password" />
      </FieldRow>
      <Tabs defaultValue="cfg" mt={10}>
        <Tabs.List>
          <Tabs.Tab value="cfg">scrapy.cfg</Tabs.Tab>
          <Tabs.Tab value="curl">curl</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="cfg">
          <Snippet
            textWith={(secret) =>
              `[deploy:scrapdeck]\nurl = ${address}/\nusername = ${username}\npassword = ${secret.replaceAll('%', '%%')}`
            }
            password={password}
            shown={shown}
          >
            Append this to the scrapy.cfg of a project. Then <span className="mono">scrapyd-deploy scrapdeck</span>{' '}
            uploads the egg to Scrapdeck, which deploys it to the nodes.
          </Snippet>
        </Tabs.Panel>
        <Tabs.Panel value="curl">
          <Snippet
            textWith={(secret) =>
              `curl -u ${username}:${secret} ${address}/schedule.json -d project=YOUR_PROJECT -d spider=YOUR_SPIDER`
            }
            password={password}
            shown={shown}
          >
            The job is queued here and sent to the first node with a free slot.
          </Snippet>
        </Tabs.Panel>
      </Tabs>
    </>
  )
}

/** The password is shown as dots, so that a shared screen does not reveal it, but is copied in full. */
function Snippet(props: {
  textWith: (secret: string) => string
  password: string
  shown: boolean
  children: ReactNode
}) {
  const { textWith, password, shown, children } = props
  return (
    <div className={classes.snippet}>
      <pre className="mono">{textWith(shown ? password : '••••••••')}</pre>
      <CopyButton value={textWith(password)} what="with the password" />
      <p className="dim">{children}</p>
    </div>
  )
}

function AppearanceChoice() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <SegmentedControl
      value={colorScheme}
      onChange={setColorScheme}
      aria-label="Appearance"
      data={optionsOf({ auto: 'System', light: 'Light', dark: 'Dark' })}
    />
  )
}

import { SegmentedControl, Stack, useMantineColorScheme } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { useApi } from '../api/api.tsx'
import { useMay, useMe } from '../api/use-me.ts'
import { ClientsPanel } from '../features/access/clients-panel.tsx'
import { SessionsPanel } from '../features/access/sessions-panel.tsx'
import { StoragePanels } from '../features/storage/storage-panel.tsx'
import { WebhooksPanel } from '../features/webhooks/webhooks-panel.tsx'
import { StartModeText } from '../ui/environment.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { FieldRow, Panel, ScreenHead } from '../ui/panel.tsx'
import { CreateEnvironment } from '../ui/python-environment.tsx'
import { QueryState } from '../ui/states.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { KeyList } from './keys-overlay.tsx'
import classes from './settings-screen.module.css'
import { optionsOf } from '../ui/fields/choice-field.tsx'
import { texts } from '../../shared/texts/ui/app.ts'

export function SettingsScreen() {
  const { query } = useApi()
  const me = useMe()
  const mayAudit = useMay('audit.read').may
  const mayWebhooks = useMay('webhooks.change').may
  const status = useQuery(query.system.status.queryOptions())
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes
  // Whether there are several engines, each of which manages the Pythons of its local node.
  const hasEngines = nodes?.some(({ kind }) => kind === 'engine') === true
  return (
    <Stack gap={12} className={classes.screen}>
      <ScreenHead
        title={texts.settings}
        note={
          status.data &&
          texts.versionAndStart(status.data.scrapdeckVersion, <RelativeTime atMs={status.data.startedAtMs} ago />)
        }
      >
        <LinkButton to="/access">{texts.usersAndAccess}</LinkButton>
        {mayAudit && <LinkButton to="/audit">{texts.auditLog}</LinkButton>}
        <LinkButton to="/engines">{texts.engines}</LinkButton>
      </ScreenHead>
      {me.data !== undefined && <ClientsPanel me={me.data} />}
      <SessionsPanel />
      {!me.isPending && mayWebhooks && <WebhooksPanel />}
      <StoragePanels />
      {!hasEngines && <LocalPython />}
      <Panel title={texts.nodeCredentials}>
        <QueryState query={status} what={texts.credentialStorage} rows={1}>
          {({ secrets }) => (
            <FieldRow label={secrets.store === 'keychain' ? texts.inKeychain : texts.inFile}>{secrets.text}</FieldRow>
          )}
        </QueryState>
      </Panel>
      <Panel title={texts.appearance}>
        <AppearanceChoice />
      </Panel>
      <Panel title={texts.keyboardShortcuts} note={texts.keysHint}>
        <KeyList />
      </Panel>
    </Stack>
  )
}

function LocalPython() {
  const { query } = useApi()
  const status = useQuery(query.system.status.queryOptions())
  return (
    <Panel
      title={texts.localPython}
      aside={
        <LinkButton to="/nodes" search={{ node: LOCAL_NODE_ID }} variant="subtle" size="compact-xs">
          {texts.openNode}
        </LinkButton>
      }
    >
      <QueryState query={status} what={texts.pythonState} rows={3}>
        {({ python }) =>
          python.state === 'ready' ? (
            <>
              <FieldRow label={texts.scrapy}>
                <IconCheck size={14} className={`tone-ok ${classes.inline}`} aria-hidden /> {python.scrapyVersion}
              </FieldRow>
              <FieldRow label={texts.python}>{python.version}</FieldRow>
              <FieldRow label={texts.path}>
                <span className="mono">{python.path}</span>
              </FieldRow>
              <FieldRow label={texts.startMode}>
                <StartModeText start={python.start} />
              </FieldRow>
            </>
          ) : (
            <div className={classes.python}>
              <p>{python.state === 'checking' ? texts.lookingForPython : python.problem}</p>
              {python.state !== 'checking' && <CreateEnvironment primary />}
            </div>
          )
        }
      </QueryState>
    </Panel>
  )
}

function AppearanceChoice() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <SegmentedControl
      value={colorScheme}
      onChange={setColorScheme}
      aria-label={texts.appearance}
      data={optionsOf({ auto: texts.system, light: texts.light, dark: texts.dark })}
    />
  )
}

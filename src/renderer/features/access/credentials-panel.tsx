import { ActionIcon, Button, PasswordInput, Tabs } from '@mantine/core'
import { IconEye, IconEyeOff } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import type { Credentials } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { checkPassword } from '../../api/browser-session.ts'
import { CopyButton, CopyText } from '../../ui/copy-button.tsx'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './access.module.css'

/** How Scrapyd clients connect. A browser session shows the password only after it was entered again. */
export function CredentialsPanel() {
  const { query } = useApi()
  const credentials = useQuery(query.system.credentials.queryOptions())
  return (
    <Panel title="Scrapyd clients" note="the fleet acts as one Scrapyd server">
      <QueryState query={credentials} what="the credentials" rows={4}>
        {(data) => <CredentialsView credentials={data} />}
      </QueryState>
    </Panel>
  )
}

function CredentialsView({ credentials }: { credentials: Credentials }) {
  const { username } = credentials
  const address = credentials.address ?? window.location.origin
  const [entered, setEntered] = useState<string | null>(null)
  const [shown, setShown] = useState(false)
  const password = credentials.password ?? entered
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
        {password === null ? (
          <EnterPassword
            onRight={(right) => {
              setEntered(right)
              setShown(true)
            }}
          />
        ) : (
          <>
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
          </>
        )}
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

function EnterPassword({ onRight }: { onRight: (password: string) => void }) {
  const problemId = useId()
  const [text, setText] = useState('')
  const check = useMutation({ mutationFn: checkPassword, onSuccess: () => onRight(text) })
  return (
    <form
      className={classes.enter}
      onSubmit={(event) => {
        event.preventDefault()
        check.mutate(text)
      }}
    >
      <PasswordInput
        size="xs"
        aria-label="Password"
        placeholder="Enter it to show it here"
        autoComplete="current-password"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          check.reset()
        }}
        error={check.isError}
        aria-describedby={check.isError ? problemId : undefined}
      />
      <Button type="submit" size="xs" disabled={text === ''} loading={check.isPending}>
        Show password
      </Button>
      {check.isError && (
        <p id={problemId} role="alert" className="tone-bad">
          {check.error.message}
        </p>
      )}
    </form>
  )
}

/**
 * The password is shown as dots, so that a shared screen does not reveal it, but is copied in full. null: it is not
 * known here.
 */
function Snippet(props: {
  textWith: (secret: string) => string
  password: string | null
  shown: boolean
  children: ReactNode
}) {
  const { textWith, password, shown, children } = props
  return (
    <div className={classes.snippet}>
      <pre className="mono">{textWith(password !== null && shown ? password : '••••••••')}</pre>
      <CopyButton
        value={textWith(password ?? 'PASSWORD')}
        what={password === null ? 'without the password' : 'with the password'}
      />
      <p className="dim">{children}</p>
    </div>
  )
}

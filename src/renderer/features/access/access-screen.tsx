import { Button, Menu } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import { seeAs } from '../../state/seen-as.ts'
import { rolesUpTo } from './role-words.ts'
import { useMe } from '../../api/use-me.ts'
import { ScreenHead } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './access.module.css'
import { AccountPanel } from './account-panel.tsx'
import { BrowsersPanel } from './browsers-panel.tsx'
import { SignInPanel } from './sign-in-panel.tsx'
import { TokensPanel } from './tokens-panel.tsx'
import { UsersPanel } from './users-panel.tsx'

/** What others see can only be told by looking: owners have every button. */
function SeeAs() {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="compact-xs" variant="default" leftSection={<IconEye size={13} />}>
          View as…
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {rolesUpTo('admin').map((role) => (
          <Menu.Item key={role} onClick={() => seeAs(role)}>
            {role}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

/** Who may do what: one's own account, tokens and sessions; for owners, those of everybody. */
export function AccessScreen() {
  const me = useMe()
  return (
    <div className={classes.screen}>
      <ScreenHead title="Users & access">{me.data?.role === 'owner' && <SeeAs />}</ScreenHead>
      <QueryState query={me} what="your role" rows={3}>
        {(data) => (
          <>
            {data.userId !== null && <AccountPanel me={data} />}
            {data.userId !== null && data.tokenId === null && <SignInPanel />}
            {data.role === 'owner' && <UsersPanel />}
            <TokensPanel me={data} />
            <BrowsersPanel me={data} />
          </>
        )}
      </QueryState>
    </div>
  )
}

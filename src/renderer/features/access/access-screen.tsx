import { Button, Menu } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import { seeAs } from '../../state/seen-as.ts'
import { useMay, useMe } from '../../api/use-me.ts'
import { ScreenHead } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { PanelsScreen } from '../../ui/panels-screen.tsx'
import { AccountPanel } from './account-panel.tsx'
import { BrowsersPanel } from './browsers-panel.tsx'
import { GroupsPanel } from './groups-panel.tsx'
import { RolesPanel } from './roles-panel.tsx'
import { SignInPanel } from './sign-in-panel.tsx'
import { TokensPanel } from './tokens-panel.tsx'
import { useRoles } from './use-access.ts'
import { UsersPanel } from './users-panel.tsx'

/** What others see can only be told by looking: owners have every button. */
function SeeAs() {
  const others = useRoles().filter(({ name }) => name !== 'owner')
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="compact-xs" variant="default" leftSection={<IconEye size={13} />}>
          View as…
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {others.map((role) => (
          <Menu.Item key={role.name} onClick={() => seeAs(role)}>
            {role.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

/** Who may do what: one's own account, tokens and sessions; for owners, those of everybody. */
export function AccessScreen() {
  const me = useMe()
  const isOwner = useMay('users.change', 'everywhere').may
  return (
    <PanelsScreen isNarrow>
      <ScreenHead title="Users & access">{me.data !== undefined && isOwner && <SeeAs />}</ScreenHead>
      <QueryState query={me} what="your role" rows={3}>
        {(data) => (
          <>
            {data.userId !== null && <AccountPanel me={data} />}
            {data.userId !== null && data.tokenId === null && <SignInPanel />}
            {isOwner && <UsersPanel />}
            {isOwner && <GroupsPanel />}
            {isOwner && <RolesPanel />}
            <TokensPanel me={data} />
            <BrowsersPanel />
          </>
        )}
      </QueryState>
    </PanelsScreen>
  )
}

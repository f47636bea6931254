import { Button, Menu } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import { seeAs } from '../../state/seen-as.ts'
import { useMay, useMe } from '../../api/use-me.ts'
import { ScreenHead, FieldRow, Panel, PanelsScreen } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { BrowsersPanel } from './browsers-panel.tsx'
import { GroupsPanel } from './groups-panel.tsx'
import { RolesPanel } from './roles-panel.tsx'
import { SignInPanel } from './sign-in-panel.tsx'
import { TokensPanel } from './tokens-panel.tsx'
import { useRoles, READ_AGAIN } from './use-access.ts'
import { UsersPanel } from './users-panel.tsx'
import { useQuery } from '@tanstack/react-query'
import type { Me } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { describePermissions } from './role-words.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

function SeeAs() {
  const others = useRoles().filter(({ name }) => name !== 'owner')
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="compact-xs" variant="default" leftSection={<IconEye size={13} />}>
          {texts.viewAs}
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

export function AccessScreen() {
  const me = useMe()
  const isOwner = useMay('users.change', 'everywhere').may
  return (
    <PanelsScreen isNarrow>
      <ScreenHead title={texts.usersAndAccess}>{me.data !== undefined && isOwner && <SeeAs />}</ScreenHead>
      <QueryState query={me} what={texts.yourRole} rows={3}>
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

function AccountPanel({ me: { name, role, permissions, nodeGroups, groups } }: { me: Me }) {
  const { query } = useApi()
  const sessions = useQuery(query.sessions.list.queryOptions(READ_AGAIN)).data?.sessions
  const isFromProvider = sessions?.some(({ isCurrent, signedInWith }) => isCurrent && signedInWith === 'oidc') === true
  return (
    <Panel title={texts.yourAccount}>
      <FieldRow label={texts.name}>{name}</FieldRow>
      <FieldRow label={texts.role}>
        {role}{' '}
        <span className="dim">
          · {permissions.everywhere === null ? texts.onlyNamedHere : describePermissions(permissions.everywhere)}
        </span>
        {isFromProvider && <span className="dim">{texts.rolesFromProvider}</span>}
      </FieldRow>
      {Object.entries(permissions.projects).map(([project, names]) => (
        <FieldRow key={project} label={project}>
          {describePermissions(names)}
        </FieldRow>
      ))}
      {Object.entries(nodeGroups).map(([tag, one]) => (
        <FieldRow key={tag} label={texts.nodesTagged(tag)}>
          {one}
        </FieldRow>
      ))}
      {groups.length > 0 && (
        <FieldRow label={texts.groups}>
          {groups.join(', ')} <span className="dim">{texts.groupRolesIncluded}</span>
        </FieldRow>
      )}
    </Panel>
  )
}

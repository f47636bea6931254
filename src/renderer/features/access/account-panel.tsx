import { useQuery } from '@tanstack/react-query'
import type { Me } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { describePermissions } from './role-words.ts'
import { READ_AGAIN } from './use-access.ts'

/** Of somebody who is logged in as a user, not with the service's own password. */
export function AccountPanel({ me: { name, role, permissions, nodeGroups, groups } }: { me: Me }) {
  const { query } = useApi()
  const sessions = useQuery(query.sessions.list.queryOptions(READ_AGAIN)).data?.sessions
  const isFromProvider = sessions?.some(({ isCurrent, signedInWith }) => isCurrent && signedInWith === 'oidc') === true
  return (
    <Panel title="Your account">
      <FieldRow label="Name">{name}</FieldRow>
      <FieldRow label="Role">
        {role}{' '}
        <span className="dim">
          · {permissions.everywhere === null ? 'only what is named here' : describePermissions(permissions.everywhere)}
        </span>
        {isFromProvider && <span className="dim"> · from your groups at the identity provider, at each login</span>}
      </FieldRow>
      {Object.entries(permissions.projects).map(([project, names]) => (
        <FieldRow key={project} label={project}>
          {describePermissions(names)}
        </FieldRow>
      ))}
      {Object.entries(nodeGroups).map(([tag, one]) => (
        <FieldRow key={tag} label={`Nodes ${tag}`}>
          {one}
        </FieldRow>
      ))}
      {groups.length > 0 && (
        <FieldRow label="Groups">
          {groups.join(', ')} <span className="dim">· whose roles are among yours</span>
        </FieldRow>
      )}
    </Panel>
  )
}

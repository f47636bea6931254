import { useQuery } from '@tanstack/react-query'
import type { Me } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { ROLE_WORDS } from './role-words.ts'
import { READ_AGAIN } from './use-access.ts'

/** Of somebody who is logged in as a user, not with the service's own password. */
export function AccountPanel({ me: { name, everywhere, projects } }: { me: Me }) {
  const { query } = useApi()
  const sessions = useQuery(query.sessions.list.queryOptions(READ_AGAIN)).data?.sessions
  const isFromProvider = sessions?.some(({ isCurrent, signedInWith }) => isCurrent && signedInWith === 'oidc') === true
  return (
    <Panel title="Your account">
      <FieldRow label="Name">{name}</FieldRow>
      <FieldRow label="Role">
        {everywhere === null ? (
          'in these projects only'
        ) : (
          <>
            {everywhere} <span className="dim">· {ROLE_WORDS[everywhere].toLowerCase()}</span>
          </>
        )}
        {isFromProvider && <span className="dim"> · from your groups at the identity provider, at each login</span>}
      </FieldRow>
      {Object.entries(projects).map(([project, one]) => (
        <FieldRow key={project} label={project}>
          {one} <span className="dim">· {ROLE_WORDS[one].toLowerCase()}</span>
        </FieldRow>
      ))}
    </Panel>
  )
}

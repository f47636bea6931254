import { useQuery } from '@tanstack/react-query'
import { NODE_GROUP_ROLES, PROJECT_ROLES } from '../../../shared/roles.ts'
import { useApi } from '../../api/api.tsx'
import type { Fields } from '../../ui/fields/form-of-schema.ts'
import type { RightsTexts } from './access-forms.ts'
import { RoleSelect } from './role-select.tsx'
import { ROLE_WORDS } from './role-words.ts'
import { ScopedRolesField } from './scoped-roles-field.tsx'

/** The roles of a user or of a group: in all projects, in single ones, and in node groups. */
export function RightsFields({ form, label }: { form: Fields<RightsTexts>; label: string }) {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes ?? []
  const { role, projects: inProjects, nodeGroups } = form.values
  return (
    <>
      <RoleSelect {...form.input('role')} hasNone label={label} description={`${ROLE_WORDS[role]}.`} />
      <ScopedRolesField
        label="Projects"
        description="More in single projects than in all others. A project without any role is as if it were not there."
        noun="project"
        roles={PROJECT_ROLES}
        known={projects.map(({ name }) => name)}
        lengthMax={200}
        value={inProjects}
        error={form.error('projects')}
        onChange={(rows) => form.change({ projects: rows })}
      />
      <ScopedRolesField
        label="Node groups"
        description="For the nodes with a tag: an operator cordons and drains them, an admin also changes, adds and removes them."
        noun="tag"
        roles={NODE_GROUP_ROLES}
        known={[...new Set(nodes.flatMap(({ tags }) => tags))].toSorted()}
        lengthMax={60}
        value={nodeGroups}
        error={form.error('nodeGroups')}
        onChange={(rows) => form.change({ nodeGroups: rows })}
      />
    </>
  )
}

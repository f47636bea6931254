import { useQuery } from '@tanstack/react-query'
import { NODE_GROUP_ROLES, type NodeGroupRole } from '../../../shared/roles.ts'
import { useApi } from '../../api/api.tsx'
import type { Fields } from '../../ui/fields/form-of-schema.ts'
import type { RightsTexts } from './access-forms.ts'
import { RoleSelect } from './role-select.tsx'
import { BUILT_IN_ROLES, describeRole, NODE_ROLE_WORDS } from './role-words.ts'
import { ScopedRolesField } from './scoped-roles-field.tsx'
import { useRoles } from './use-access.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

const NODE_ROLES = BUILT_IN_ROLES.filter(({ name }) => NODE_GROUP_ROLES.some((one) => one === name)).map((role) => ({
  ...role,
  isBuiltIn: false,
  description: NODE_ROLE_WORDS[role.name as NodeGroupRole]
}))

export function RightsFields({ form, label }: { form: Fields<RightsTexts>; label: string }) {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes ?? []
  const roles = useRoles()
  const { role, projects: inProjects, nodeGroups } = form.values
  return (
    <>
      <RoleSelect
        {...form.input('role')}
        roles={roles}
        hasNone
        label={label}
        description={`${describeRole(roles, role)}.`}
      />
      <ScopedRolesField
        label={texts.projects}
        description={texts.projectRolesHint}
        words={{ name: texts.project, row: texts.projectRow, add: texts.addProject }}
        roles={roles.filter(({ isForProjects }) => isForProjects)}
        known={projects.map(({ name }) => name)}
        lengthMax={200}
        value={inProjects}
        error={form.error('projects')}
        onChange={(rows) => form.change({ projects: rows })}
      />
      <ScopedRolesField
        label={texts.nodeGroups}
        description={texts.nodeGroupRolesHint}
        words={{ name: texts.tag, row: texts.tagRow, add: texts.addTag }}
        roles={NODE_ROLES}
        known={[...new Set(nodes.flatMap(({ tags }) => tags))].toSorted()}
        lengthMax={60}
        value={nodeGroups}
        error={form.error('nodeGroups')}
        onChange={(rows) => form.change({ nodeGroups: rows })}
      />
    </>
  )
}

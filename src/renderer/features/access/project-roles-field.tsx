import { ActionIcon, Autocomplete, Button, Input } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import classes from './access.module.css'
import { RoleSelect } from './role-select.tsx'
import { useRoles } from './use-access.ts'

export interface ProjectRoleRow {
  project: string
  role: string
}

interface ProjectRolesFieldProps {
  value: readonly ProjectRoleRow[]
  error?: string | undefined
  onChange: (rows: ProjectRoleRow[]) => void
}

/** Roles in single projects, also in ones that are not there yet: their first egg may come from this user. */
export function ProjectRolesField({ value, error, onChange }: ProjectRolesFieldProps) {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const roles = useRoles().filter(({ isForProjects }) => isForProjects)
  const free = projects.map(({ name }) => name).filter((name) => !value.some(({ project }) => project === name))
  const change = (index: number, patch: Partial<ProjectRoleRow>) =>
    onChange(value.map((row, at) => (at === index ? { ...row, ...patch } : row)))
  return (
    <Input.Wrapper
      label="Projects"
      description="More in single projects than in all others. A project without any role is as if it were not there."
      error={error}
    >
      <div className={classes.projects}>
        {value.map(({ project, role }, index) => (
          <div className={classes.projectRow} key={index}>
            <Autocomplete
              aria-label={`Project ${index + 1}`}
              placeholder="Project"
              data={free}
              value={project}
              maxLength={200}
              onChange={(next) => change(index, { project: next })}
              {...CODE_INPUT}
            />
            <RoleSelect
              aria-label={`Role in ${project || `project ${index + 1}`}`}
              roles={roles}
              value={role}
              onChange={(next) => next !== null && change(index, { role: next })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${project || `project ${index + 1}`}`}
              onClick={() => onChange(value.filter((_, at) => at !== index))}
            >
              <IconX size={14} />
            </ActionIcon>
          </div>
        ))}
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconPlus size={13} />}
          onClick={() => onChange([...value, { project: '', role: 'viewer' }])}
        >
          Add project
        </Button>
      </div>
    </Input.Wrapper>
  )
}

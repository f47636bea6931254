import { ActionIcon, Autocomplete, Button, Input, Stack } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import type { AccessRole } from '../../../shared/contract/index.ts'
import classes from './access.module.css'
import { RoleSelect } from './role-select.tsx'
import { texts } from '../../../shared/texts/ui/access.ts'

export interface ScopedRole<Role extends string> {
  /** A project or a node tag. */
  name: string
  role: Role
}

interface ScopedRolesFieldProps<Role extends string> {
  label: string
  description: string
  words: { name: string; row: (row: number) => string; add: string }
  roles: readonly AccessRole[]
  known: readonly string[]
  lengthMax: number
  value: readonly ScopedRole<Role>[]
  error?: string | undefined
  onChange: (rows: ScopedRole<Role>[]) => void
}

/** One role per row. The projects or node groups need not exist yet. */
export function ScopedRolesField<Role extends string>(props: ScopedRolesFieldProps<Role>) {
  const { label, description, words, roles, known, lengthMax, value, error, onChange } = props
  const free = known.filter((one) => !value.some(({ name }) => name === one))
  const change = (index: number, patch: Partial<ScopedRole<Role>>) =>
    onChange(value.map((row, at) => (at === index ? { ...row, ...patch } : row)))
  return (
    <Input.Wrapper label={label} description={description} error={error}>
      <Stack align="flex-start" gap={6} mt={6}>
        {value.map(({ name, role }, index) => (
          <div className={classes.projectRow} key={index}>
            <Autocomplete
              aria-label={words.row(index + 1)}
              placeholder={words.name}
              data={free}
              value={name}
              maxLength={lengthMax}
              onChange={(next) => change(index, { name: next })}
              {...CODE_INPUT}
            />
            <RoleSelect
              aria-label={texts.roleIn(name || words.row(index + 1))}
              roles={roles}
              value={role}
              onChange={(next) => next !== null && change(index, { role: next as Role })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={texts.removeNamed(name || words.row(index + 1))}
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
          onClick={() => onChange([...value, { name: '', role: 'viewer' as Role }])}
        >
          {words.add}
        </Button>
      </Stack>
    </Input.Wrapper>
  )
}

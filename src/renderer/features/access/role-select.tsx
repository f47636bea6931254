import { Select, type SelectProps } from '@mantine/core'
import { ROLES, type Role } from '../../../shared/roles.ts'
import classes from './access.module.css'
import { ROLE_WORDS, rolesUpTo } from './role-words.ts'

/** Wide enough for the descriptions, also below a narrow field. */
const LIST = { width: 350, position: 'bottom-start' } as const

/** Chooses a role, up to the highest that may be given; each says what it may do. `hasNone`: or none at all. */
export function RoleSelect({
  most = 'owner',
  hasNone = false,
  ...props
}: SelectProps & { most?: Role; hasNone?: boolean }) {
  return (
    <Select
      allowDeselect={false}
      data={[...(hasNone ? ['none'] : []), ...rolesUpTo(most)]}
      comboboxProps={LIST}
      maxDropdownHeight={320}
      renderOption={({ option }) => (
        <span className={classes.role}>
          {option.value}
          <span className="dim">{ROLE_WORDS[ROLES.find((role) => role === option.value) ?? 'none']}</span>
        </span>
      )}
      {...props}
    />
  )
}

import { Select } from '../../ui/fields/select.tsx'
import { Flex, type SelectProps } from '@mantine/core'
import type { AccessRole } from '../../../shared/contract/index.ts'
import classes from './access.module.css'
import { describeRole } from './role-words.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

/** The list of roles is wide enough for the descriptions, even below a narrow field. */
const LIST = { width: 350, position: 'bottom-start' } as const

interface RoleSelectProps extends SelectProps {
  roles: readonly AccessRole[]
  hasNone?: boolean
}

/** `hasNone` adds an option for no role. */
export function RoleSelect({ roles, hasNone = false, ...props }: RoleSelectProps) {
  const names = [...(hasNone ? ['none'] : []), ...roles.map(({ name }) => name)]
  // Whether the value is not among the options: several roles from groups, or a removed role.
  const isOther = typeof props.value === 'string' && !names.includes(props.value)
  return (
    <Select
      allowDeselect={false}
      data={[...(isOther ? [props.value!] : []), ...names].map((value) => ({
        value,
        label: value === 'none' ? texts.none : value
      }))}
      comboboxProps={LIST}
      maxDropdownHeight={320}
      renderOption={({ option }) => (
        <Flex component="span" direction="column" className={classes.role}>
          {option.label}
          <span className="dim">{describeRole(roles, option.value)}</span>
        </Flex>
      )}
      {...props}
    />
  )
}

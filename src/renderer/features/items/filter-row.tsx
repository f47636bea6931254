import { optionsOf } from '../../ui/fields/choice-field.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { ActionIcon, Button, Flex, Group, Popover, TextInput, Stack } from '@mantine/core'
import { IconFilter, IconX } from '@tabler/icons-react'
import { useState } from 'react'
import type { ItemColumn, ItemCondition } from '../../../shared/contract/index.ts'
import { useKeys } from '../../state/keys.ts'
import { describeCondition, MOST_CONDITIONS, OPERATOR_LABELS, takesValue } from './items-filter.ts'
import classes from './items-screen.module.css'
import { texts } from '../../../shared/texts/ui/items.ts'

interface FilterRowProps {
  columns: readonly ItemColumn[]
  conditions: ItemCondition[]
  onChange: (conditions: ItemCondition[]) => void
}

export function FilterRow({ columns, conditions, onChange }: FilterRowProps) {
  const [isOpen, setOpen] = useState(false)
  useKeys(texts.items, [{ key: '/', label: texts.addFilter, run: () => setOpen(conditions.length < MOST_CONDITIONS) }])
  const add = (condition: ItemCondition) => {
    onChange([...conditions, condition])
    setOpen(false)
  }
  return (
    <Group gap={6} role="group" aria-label={texts.filter}>
      {conditions.map((condition, at) => (
        <Flex key={at} component="span" display="inline-flex" align="center" gap={2} className={classes.chip}>
          <span className="ellipsis">{describeCondition(condition)}</span>
          <ActionIcon
            size={18}
            aria-label={texts.removeFilter(describeCondition(condition))}
            onClick={() => onChange(conditions.filter((_, index) => index !== at))}
          >
            <IconX size={12} />
          </ActionIcon>
        </Flex>
      ))}
      {conditions.length < MOST_CONDITIONS && (
        <Popover opened={isOpen} onChange={setOpen} position="bottom-start" trapFocus shadow="md" width={300}>
          <Popover.Target>
            <Button size="compact-sm" leftSection={<IconFilter size={13} />} onClick={() => setOpen(!isOpen)}>
              {texts.addFilter}
            </Button>
          </Popover.Target>
          <Popover.Dropdown>
            <ConditionForm columns={columns} onAdd={add} />
          </Popover.Dropdown>
        </Popover>
      )}
      {conditions.length > 1 && (
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => onChange([])}>
          {texts.clearAll}
        </Button>
      )}
    </Group>
  )
}

function ConditionForm({ columns, onAdd }: { columns: readonly ItemColumn[]; onAdd: (made: ItemCondition) => void }) {
  const [field, setField] = useState<string | null>(columns[0]?.name ?? null)
  const [operator, setOperator] = useState<ItemCondition['operator']>('contains')
  const [value, setValue] = useState('')
  const isComplete = field !== null && (!takesValue({ operator }) || value !== '')
  return (
    <Stack
      component="form"
      gap={8}
      onSubmit={(event) => {
        event.preventDefault()
        if (isComplete) onAdd({ field, operator, value: takesValue({ operator }) ? value : '' })
      }}
    >
      <Select
        label={texts.field}
        searchable
        allowDeselect={false}
        comboboxProps={{ withinPortal: false }}
        data={columns.map(({ name }) => ({ value: name, label: name === '' ? texts.noName : name }))}
        value={field}
        onChange={setField}
      />
      <Select
        label={texts.condition}
        allowDeselect={false}
        comboboxProps={{ withinPortal: false }}
        data={optionsOf(OPERATOR_LABELS)}
        value={operator}
        onChange={(next) => next !== null && setOperator(next)}
      />
      {takesValue({ operator }) && (
        <TextInput
          label={texts.value}
          data-autofocus
          value={value}
          maxLength={1000}
          onChange={(event) => setValue(event.currentTarget.value)}
        />
      )}
      <Button type="submit" variant="filled" disabled={!isComplete}>
        {texts.applyFilter}
      </Button>
    </Stack>
  )
}

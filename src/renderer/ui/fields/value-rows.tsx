import { ActionIcon, Autocomplete, Button, PasswordInput, TextInput, Tooltip } from '@mantine/core'
import { IconLock, IconLockOpen, IconPlus, IconX } from '@tabler/icons-react'
import type { ComponentProps, ReactNode } from 'react'
import type { Fields } from './form-of-schema.ts'
import { type FormRow, newRow, ROW_WORDS, type RowKind } from './form-rows.ts'
import form from './form.module.css'
import classes from './value-rows.module.css'
import { texts } from '../../../shared/texts/ui/shared.ts'

interface ValueRowsProps<Name extends string> {
  fields: Pick<Fields<Record<NoInfer<Name>, FormRow[]>>, 'values' | 'problem' | 'change'>
  name: Name
  kind: RowKind
  title: string
  hint?: ReactNode
  names: readonly string[]
  inherited?: ReactNode
}

/** Enter in the last value adds a row. */
export function ValueRows<Name extends string>({
  fields,
  name: at,
  kind,
  title,
  hint,
  names,
  inherited
}: ValueRowsProps<Name>) {
  const rows = fields.values[at]
  const onChange = (next: FormRow[]) => fields.change({ [at]: next } as Record<Name, FormRow[]>)
  const what = ROW_WORDS[kind]
  const set = (key: number, patch: Partial<FormRow>) =>
    onChange(
      rows.map((row) => (row.key === key ? { ...row, ...(row.takesFocus && { takesFocus: false }), ...patch } : row))
    )
  const add = () => onChange([...rows, newRow()])
  const unused = names.filter((name) => !rows.some((row) => row.name === name))
  return (
    <fieldset className={classes.rows}>
      <legend className={form.label}>{title}</legend>
      {inherited}
      {rows.map((row, index) => (
        <div key={row.key} className={classes.row}>
          <Autocomplete
            aria-label={texts.nameOfRow(what, index + 1)}
            placeholder={kind === 'args' ? texts.argumentName : texts.settingName}
            data={[...unused]}
            value={row.name}
            onChange={(name) => set(row.key, { name })}
            error={fields.problem(`${at}.${index}.name`)}
            autoFocus={row.name === '' && row.value === ''}
            classNames={{ input: 'mono' }}
            spellCheck={false}
          />
          <ValueInput
            isSecret={row.isSecret}
            error={fields.problem(`${at}.${index}.value`) ?? null}
            aria-label={texts.valueOfRow(what, index + 1)}
            placeholder={row.isSecret ? texts.secretValue : texts.value}
            value={row.value}
            autoFocus={row.takesFocus}
            onChange={(event) => set(row.key, { value: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return
              event.preventDefault()
              if (index === rows.length - 1) add()
            }}
          />
          <Tooltip label={row.isSecret ? SECRET_TEXT : texts.makeSecret}>
            <ActionIcon
              aria-label={texts.secretOfRow(what, row.name || index + 1)}
              aria-pressed={row.isSecret}
              data-on={row.isSecret || undefined}
              className={classes.lock}
              onClick={() => set(row.key, { isSecret: !row.isSecret })}
            >
              {row.isSecret ? <IconLock size={14} /> : <IconLockOpen size={14} />}
            </ActionIcon>
          </Tooltip>
          <ActionIcon
            aria-label={texts.removeRow(what, row.name || index + 1)}
            onClick={() => onChange(rows.filter(({ key }) => key !== row.key))}
          >
            <IconX size={14} />
          </ActionIcon>
        </div>
      ))}
      {rows.some(({ isSecret }) => isSecret) && <p className="dim small">{SECRET_TEXT}</p>}
      {hint !== undefined && <p className="dim small">{hint}</p>}
      <Button variant="subtle" color="gray" leftSection={<IconPlus size={14} />} onClick={add} className={classes.add}>
        {texts.addRow(what)}
      </Button>
    </fieldset>
  )
}

const SECRET_TEXT = texts.secretHint

function ValueInput({ isSecret, ...props }: { isSecret: boolean; error: string | null } & ComponentProps<'input'>) {
  const rest = { ...props, size: undefined, color: undefined, style: undefined, spellCheck: false, autoComplete: 'off' }
  if (!isSecret) return <TextInput {...rest} classNames={{ input: 'mono' }} />
  return (
    <PasswordInput
      {...rest}
      autoComplete="new-password"
      classNames={{ innerInput: 'mono' }}
      visibilityToggleButtonProps={{ 'aria-label': texts.showOrHideSecret }}
    />
  )
}

import { z } from 'zod'
import { SECRET_MASK } from '../../../shared/contract/index.ts'
import { RESERVED_ARGUMENTS, UNUSABLE_NAME } from '../../../shared/reserved-arguments.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

export interface FormRow {
  readonly key: number
  readonly name: string
  readonly value: string
  /** Whether the value is a secret, which is not shown again after it is saved. */
  readonly isSecret: boolean
  /** Whether to focus the value, because the button that added the row is gone. */
  readonly takesFocus?: boolean
}

export type RowKind = 'args' | 'settings' | 'env'
export const ROW_WORDS: Record<RowKind, string> = {
  args: texts.argument,
  settings: texts.setting,
  env: texts.variable
}
export const ROW_TITLES = { args: texts.arguments, settings: texts.settings }

let nextKey = 1
export const newRow = (name = '', value = '', isSecret = false): FormRow => ({ key: nextKey++, name, value, isSecret })
/** Rows for stored values. Secrets must be entered again. */
export const rowsOf = (values: Record<string, string> = {}, secretNames: readonly string[] = []) =>
  Object.entries(values).map(([name, value]) => {
    const isSecret = secretNames.includes(name)
    return newRow(name, isSecret && value === SECRET_MASK ? '' : value, isSecret)
  })

export function problemOfRow(kind: RowKind, row: FormRow, rows: readonly FormRow[]): string | null {
  const name = row.name.trim()
  if (name === '') return row.value === '' ? null : texts.enterName
  if (rows.some((other) => other.key !== row.key && other.name.trim() === name)) return texts.nameUsedTwice(name)
  if (kind === 'args' && RESERVED_ARGUMENTS.has(name)) return texts.nameReserved(name)
  if (name === UNUSABLE_NAME) return texts.nameUnsupported(name)
  if (kind === 'env' && !/^[A-Za-z_]\w*$/.test(name)) return texts.variableNameHint
  if (/[\s=]/.test(name)) return texts.nameWithSpaces
  return null
}

/** Reports each problem at the row's name or value. */
export const rowsForm = (kind: RowKind, problemOfValue: (value: string) => string | null = () => null) =>
  z.custom<readonly FormRow[]>().check(({ value: rows, issues }) => {
    const add = (path: (string | number)[], message: string | null) =>
      message !== null && issues.push({ code: 'custom', message, path, input: rows })
    for (const [index, row] of rows.entries()) {
      add([index, 'name'], problemOfRow(kind, row, rows))
      if (row.isSecret && row.value === '' && row.name.trim() !== '') add([index, 'value'], texts.enterSecretValue)
      else add([index, 'value'], problemOfValue(row.value))
    }
  })

export const secretNamesOf = (rows: readonly FormRow[]): string[] => [
  ...new Set(rows.filter(({ isSecret, name }) => isSecret && name.trim() !== '').map(({ name }) => name.trim()))
]

export function valuesOf(rows: readonly FormRow[]): Record<string, string> {
  return Object.fromEntries(
    rows.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value])
  )
}

import { SECRET_MASK } from '../../../shared/contract/index.ts'
import { RESERVED_ARGUMENTS } from '../../../shared/reserved-arguments.ts'

/** One row of arguments or settings; rows keep their order and may be half filled while somebody types. */
export interface FormRow {
  readonly key: number
  readonly name: string
  readonly value: string
  /** Not shown again once it was sent. */
  readonly isSecret: boolean
}

let nextKey = 1
export const newRow = (name = '', value = '', isSecret = false): FormRow => ({ key: nextKey++, name, value, isSecret })
/** Rows of stored values; secrets are to be entered again. */
export const rowsOf = (values: Record<string, string> = {}, secretNames: readonly string[] = []) =>
  Object.entries(values).map(([name, value]) => {
    const isSecret = secretNames.includes(name)
    // Nobody but the engine knows what stood there: it is to be entered again.
    return newRow(name, isSecret && value === SECRET_MASK ? '' : value, isSecret)
  })

/** What is wrong with a row's name, in words; null when nothing is. */
export function problemOfRow(kind: 'args' | 'settings', row: FormRow, rows: readonly FormRow[]): string | null {
  const name = row.name.trim()
  if (name === '') return row.value === '' ? null : 'Give it a name'
  if (rows.some((other) => other.key !== row.key && other.name.trim() === name)) return `${name} stands twice`
  if (kind === 'args' && RESERVED_ARGUMENTS.has(name))
    return `${name} is taken by Scrapyd: it would not reach the spider`
  if (/[\s=]/.test(name)) return 'A name has no blanks and no ='
  return null
}

/** A secret has a name and no value: it is new, or it is not known here what it was. */
export const lacksSecret = ({ name, value, isSecret }: FormRow): boolean =>
  isSecret && value === '' && name.trim() !== ''

/** What the rows say; those without a name are left out. */
export function valuesOf(rows: readonly FormRow[]): Record<string, string> {
  return Object.fromEntries(
    rows.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value])
  )
}

import type { ReactNode } from 'react'
import type { Fields } from './form-of-schema.ts'
import { type FormRow, ROW_TITLES } from './form-rows.ts'
import { ValueRows } from './value-rows.tsx'

type Kind = 'args' | 'settings'

interface ArgumentsAndSettingsProps {
  fields: Pick<Fields<Record<Kind, FormRow[]>>, 'values' | 'problem' | 'change'>
  names: Record<Kind, readonly string[]>
  inherited: (kind: Kind) => ReactNode
}

export function ArgumentsAndSettings({ fields, names, inherited }: ArgumentsAndSettingsProps) {
  return (['args', 'settings'] as const).map((kind) => (
    <ValueRows
      key={kind}
      fields={fields}
      name={kind}
      kind={kind}
      title={ROW_TITLES[kind]}
      names={names[kind]}
      inherited={inherited(kind)}
    />
  ))
}

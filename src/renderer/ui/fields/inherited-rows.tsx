import { ActionIcon, Tooltip } from '@mantine/core'
import { IconArrowBackUp, IconPencil, IconX } from '@tabler/icons-react'
import type { Fields } from './form-of-schema.ts'
import { type FormRow, newRow, ROW_WORDS, type RowKind } from './form-rows.ts'
import { type Inherited, notReplaced, ORIGIN_TEXTS } from './inherited.ts'
import classes from './value-rows.module.css'
import { texts } from '../../../shared/texts/ui/shared.ts'

interface InheritedRowsProps<Kind extends RowKind> {
  fields: Pick<Fields<Record<NoInfer<Kind>, FormRow[]>>, 'values' | 'change'>
  kind: Kind
  inherited: Inherited
  left?: readonly string[]
  /** Absent: the user cannot omit individual values. */
  onLeave?: ((left: string[]) => void) | undefined
}

export function InheritedRows<Kind extends RowKind>({
  fields,
  kind,
  inherited,
  left = [],
  onLeave
}: InheritedRowsProps<Kind>) {
  const rows = fields.values[kind]
  const what = ROW_WORDS[kind]
  const override = (name: string, value: string, isSecret: boolean) => {
    const added = { ...newRow(name, isSecret ? '' : value, isSecret), takesFocus: true }
    fields.change({ [kind]: [...rows, added] } as unknown as Record<Kind, FormRow[]>)
  }
  return notReplaced(inherited[kind], rows).map(({ name, value, isSecret, origin }) => {
    const isLeft = left.includes(name)
    return (
      <div key={name} className={`${classes.inherited} dim`} data-left={isLeft || undefined}>
        <span className="mono ellipsis" title={name}>
          {name}
        </span>
        <span className={classes.inheritedValue}>
          <span className="mono ellipsis" title={value}>
            {value}
          </span>
          <span className={`${classes.origin} fixed push small`}>
            {isLeft ? texts.valueLeftOut : ORIGIN_TEXTS[origin]}
          </span>
        </span>
        {isLeft ? (
          <span />
        ) : (
          <Tooltip label={texts.overrideHint}>
            <ActionIcon aria-label={texts.overrideRow(what, name)} onClick={() => override(name, value, isSecret)}>
              <IconPencil size={14} />
            </ActionIcon>
          </Tooltip>
        )}
        {onLeave !== undefined && (
          <Tooltip label={isLeft ? texts.restoreHint : texts.leaveOutHint}>
            <ActionIcon
              aria-label={(isLeft ? texts.restoreRow : texts.leaveOutRow)(what, name)}
              onClick={() => onLeave(isLeft ? left.filter((each) => each !== name) : [...left, name])}
            >
              {isLeft ? <IconArrowBackUp size={14} /> : <IconX size={14} />}
            </ActionIcon>
          </Tooltip>
        )}
      </div>
    )
  })
}

import { ActionIcon, Tooltip } from '@mantine/core'
import { IconArrowBackUp, IconPencil, IconX } from '@tabler/icons-react'
import type { InheritedValue } from './inherited.ts'
import classes from './value-rows.module.css'

interface InheritedRowsProps {
  rows: readonly InheritedValue[]
  /** `argument`, `setting`, `variable`. */
  what: string
  /** Names that this order leaves out. */
  left: readonly string[]
  /** Absent: single values cannot be left out here. */
  onLeave?: ((left: string[]) => void) | undefined
  onOverride: (row: InheritedValue) => void
}

/** What the order starts from, greyed, with its origin: each value can be replaced or left out for this run. */
export function InheritedRows({ rows, what, left, onLeave, onOverride }: InheritedRowsProps) {
  return rows.map((row) => {
    const { name, value, origin } = row
    const isLeft = left.includes(name)
    return (
      <div key={name} className={classes.inherited} data-left={isLeft || undefined}>
        <span className="mono ellipsis" title={name}>
          {name}
        </span>
        <span className={classes.inheritedValue}>
          <span className="mono ellipsis" title={value}>
            {value}
          </span>
          <span className={classes.origin}>{isLeft ? 'left out' : origin}</span>
        </span>
        {isLeft ? (
          <span />
        ) : (
          <Tooltip label="Use another value for this run">
            <ActionIcon aria-label={`Override ${what} ${name}`} onClick={() => onOverride(row)}>
              <IconPencil size={14} />
            </ActionIcon>
          </Tooltip>
        )}
        {onLeave !== undefined && (
          <Tooltip label={isLeft ? 'Use the default again' : 'Leave out of this run'}>
            <ActionIcon
              aria-label={`${isLeft ? 'Restore' : 'Leave out'} ${what} ${name}`}
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

import type { ReactNode } from 'react'
import classes from './access.module.css'
import { texts } from '../../../shared/texts/ui/access.ts'

interface AccessTableProps {
  label: string
  columns: readonly (string | { title: string; isNumber: true } | false)[]
  children: ReactNode
}

/** On a narrow screen, each row becomes a block. */
export function AccessTable({ label, columns, children }: AccessTableProps) {
  const shown = columns.filter((column) => column !== false)
  return (
    <table className={classes.table} aria-label={label}>
      <thead>
        <tr>
          {shown.map((column) =>
            typeof column === 'string' ? (
              <th key={column} scope="col">
                {column}
              </th>
            ) : (
              <th key={column.title} scope="col" className={classes.number}>
                {column.title}
              </th>
            )
          )}
          <th>
            <span className="visually-hidden">{texts.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

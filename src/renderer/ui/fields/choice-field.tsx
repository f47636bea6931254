import { SegmentedControl, type SegmentedControlProps } from '@mantine/core'
import { useId } from 'react'
import classes from './form.module.css'

export function ChoiceField<Value extends string>({
  label,
  note,
  ...props
}: { label: string; note?: string | null | undefined } & SegmentedControlProps<Value>) {
  const id = useId()
  return (
    <div className={classes.choice}>
      <span className={classes.label} id={id}>
        {label}
      </span>
      <SegmentedControl {...props} aria-labelledby={id} />
      {note != null && <p className="dim small">{note}</p>}
    </div>
  )
}

export const optionsOf = <Value extends string>(labels: Readonly<Record<Value, string>>) =>
  Object.entries<string>(labels).map(([value, label]) => ({ value: value as Value, label }))

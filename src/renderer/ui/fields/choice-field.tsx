import { SegmentedControl, type SegmentedControlProps } from '@mantine/core'
import { useId } from 'react'
import classes from './form.module.css'

/** One of a few options, below its label. */
export function ChoiceField<Value extends string>({
  label,
  ...props
}: { label: string } & SegmentedControlProps<Value>) {
  const id = useId()
  return (
    <div>
      <span className={classes.label} id={id}>
        {label}
      </span>
      <SegmentedControl {...props} aria-labelledby={id} />
    </div>
  )
}

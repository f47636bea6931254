import { explainError } from '../../api/explain-error.ts'
import classes from './form-failure.module.css'

/** Why what a dialog asked for was refused; it comes into sight however long the form above it is. */
export function FormFailure({ error }: { error: unknown }) {
  if (error === null) return null
  const { code, title, text } = explainError(error)
  return (
    <div className={classes.failure} role="alert" ref={bringIntoSight}>
      {/* "Not of the form that it takes" tells nothing to who filled in a form: the text names the field. */}
      {code !== 'BAD_INPUT' && <strong>{title}</strong>}
      <p>{text}</p>
    </div>
  )
}

/** Defined here, not inline: it must run when the failure appears, not at each key that is typed after it. */
function bringIntoSight(element: HTMLElement | null): void {
  element?.scrollIntoView?.({ block: 'nearest' })
}

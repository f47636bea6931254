import { explainError } from '../../api/explain-error.ts'
import classes from './form-failure.module.css'

/** Shows why a dialog's request was refused. Scrolls into view, because the form above it can be long. */
export function FormFailure({ error }: { error: unknown }) {
  if (error === null) return null
  const { code, title, text } = explainError(error)
  // The title and code of BAD_INPUT do not help in a form, where the text names the field.
  const isOfField = code === 'BAD_INPUT'
  return (
    <div className={`${classes.failure} notice-bad break`} role="alert" ref={bringIntoSight}>
      {!isOfField && <strong>{title}</strong>}
      <p>{text}</p>
      {!isOfField && code !== null && <span className="faint mono">{code}</span>}
    </div>
  )
}

/** Not an inline function, because it must run when the failure appears, not on every key press. */
function bringIntoSight(element: HTMLElement | null): void {
  element?.scrollIntoView?.({ block: 'nearest' })
}

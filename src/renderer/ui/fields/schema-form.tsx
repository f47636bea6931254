import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { DialogFoot, SubmitKey } from '../dialog.tsx'
import { FormFailure } from './form-failure.tsx'
import type { FormState } from './form-of-schema.ts'
import classes from './form.module.css'
import { texts } from '../../../shared/texts/ui/shared.ts'

interface SchemaFormProps {
  form: FormState
  className?: string
  gap?: number
  label?: string
  onEscape?: () => void
  children: ReactNode
}

export function SchemaForm({ form, className = classes.form, gap, label, onEscape, children }: SchemaFormProps) {
  return (
    <form
      ref={form.element}
      noValidate
      className={className}
      style={{ gap }}
      aria-label={label}
      onSubmit={form.submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onEscape?.()
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        form.submit()
      }}
    >
      {children}
    </form>
  )
}

interface FormFootProps {
  form: FormState
  submit: string
  says?: string
  isDisabled?: boolean
  onCancel: () => void
  children?: ReactNode
}

export function FormFoot({ form, submit, says, isDisabled, onCancel, children }: FormFootProps) {
  return (
    <>
      <FormFailure error={form.failure} />
      <DialogFoot says={form.isRefused ? texts.correctMarkedFields : (says ?? '')}>
        {children}
        <Button onClick={onCancel}>{texts.cancel}</Button>
        <Button
          type="submit"
          variant="filled"
          loading={form.isSaving}
          disabled={isDisabled}
          rightSection={<SubmitKey />}
        >
          {submit}
        </Button>
      </DialogFoot>
    </>
  )
}

import { Select } from './select.tsx'
import { TextInput } from '@mantine/core'
import { useId } from 'react'
import type { RetryPolicy } from '../../../shared/contract/index.ts'
import type { Fields } from './form-of-schema.ts'
import classes from './retry-fields.module.css'
import { describeRetry, RetryForm, type RetryTexts } from './retry.ts'
import { optionsOf } from './choice-field.tsx'

const BACKOFF = [
  { name: 'backoffSeconds', label: 'Backoff', title: 'Wait before the first retry. Example: 30 s' },
  { name: 'backoffFactor', label: 'Factor', title: 'Each wait is this many times the previous one. Example: 2' },
  { name: 'backoffMaxSeconds', label: 'Maximum', title: 'Maximum backoff. Example: 1 h' }
] as const

interface RetryFieldsProps {
  fields: Fields<RetryTexts>
  /** Applies if nothing is entered here. */
  inherited?: RetryPolicy | null
}

/** When a run that failed or was lost is retried, and a summary in words. */
export function RetryFields({ fields, inherited = null }: RetryFieldsProps) {
  const id = useId()
  const isAsked = fields.values.attempts.trim() !== ''
  const read = RetryForm.safeParse(fields.values)
  const fromProject = describeRetry(inherited)
  return (
    <div className={`${classes.fields} small`}>
      <TextInput
        {...fields.input('attempts')}
        error={fields.problem('attempts')}
        label="Attempts"
        placeholder={fromProject === null ? '1' : `project: ${inherited!.attempts}`}
        inputMode="numeric"
        aria-describedby={`${id}-words`}
      />
      {isAsked && (
        <>
          <Select
            {...fields.input('on')}
            label="Retry if"
            allowDeselect={false}
            data={optionsOf({ both: 'failed or lost', failed: 'failed', lost: 'lost' })}
          />
          {BACKOFF.map(({ name, label, title }) => (
            <TextInput
              key={name}
              {...fields.input(name)}
              error={fields.problem(name)}
              label={label}
              title={title}
              inputMode={name === 'backoffFactor' ? 'decimal' : undefined}
            />
          ))}
        </>
      )}
      <p id={`${id}-words`} className="dim">
        {!read.success
          ? ''
          : read.data !== null
            ? (describeRetry(read.data) ?? 'one attempt, no retry')
            : fromProject === null
              ? 'no retry'
              : `project setting: ${fromProject}`}
      </p>
    </div>
  )
}

import { Select, TextInput } from '@mantine/core'
import { useId } from 'react'
import type { RetryPolicy } from '../../../shared/contract/index.ts'
import type { Fields } from './form-of-schema.ts'
import classes from './retry-fields.module.css'
import { describeRetry, RetryForm, type RetryTexts } from './retry.ts'
import { optionsOf } from './options.ts'

interface RetryFieldsProps {
  fields: Fields<RetryTexts>
  /** What holds where nothing is asked for here. */
  inherited?: RetryPolicy | null
}

/** When a run that failed or was lost is retried, and what that comes to in words. */
export function RetryFields({ fields, inherited = null }: RetryFieldsProps) {
  const id = useId()
  const isAsked = fields.values.attempts.trim() !== ''
  const read = RetryForm.safeParse(fields.values)
  const fromProject = describeRetry(inherited)
  return (
    <div className={classes.fields}>
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
          <TextInput
            {...fields.input('backoffSeconds')}
            error={fields.problem('backoffSeconds')}
            label="Backoff"
            title="Wait before the first retry. Example: 30 s"
          />
          <TextInput
            {...fields.input('backoffFactor')}
            error={fields.problem('backoffFactor')}
            label="Factor"
            inputMode="decimal"
            title="Backoff factor. 1: every wait is the same. 2: each wait is twice the previous one"
          />
          <TextInput
            {...fields.input('backoffMaxSeconds')}
            error={fields.problem('backoffMaxSeconds')}
            label="Maximum"
            title="Maximum backoff. Example: 1 h"
          />
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

import { Select, TextInput } from '@mantine/core'
import { useId } from 'react'
import type { RetryPolicy } from '../../../shared/contract/index.ts'
import classes from './retry-fields.module.css'
import { describeRetry, readRetry, type RetryTexts } from './retry.ts'

interface RetryFieldsProps {
  texts: RetryTexts
  /** What holds where nothing is asked for here. */
  inherited?: RetryPolicy | null
  onChange: (texts: RetryTexts) => void
}

/** When a run that ended badly is tried again, and what that comes to in words. */
export function RetryFields({ texts, inherited = null, onChange }: RetryFieldsProps) {
  const id = useId()
  const change = (patch: Partial<RetryTexts>) => onChange({ ...texts, ...patch })
  const read = readRetry(texts)
  const problem = 'problem' in read ? read.problem.replace(/^Retry: /, '') : null
  const isAsked = texts.attempts.trim() !== ''
  const fromProject = inherited === null ? null : describeRetry(inherited)
  const words =
    'retry' in read && read.retry !== null
      ? (describeRetry(read.retry) ?? 'one run, and never again')
      : fromProject === null
        ? 'never tried again'
        : `as the project says: ${fromProject}`
  return (
    <div className={classes.fields}>
      <TextInput
        label="Runs in all"
        value={texts.attempts}
        placeholder={fromProject === null ? '1' : `project: ${inherited!.attempts}`}
        inputMode="numeric"
        aria-describedby={`${id}-words`}
        onChange={(event) => change({ attempts: event.currentTarget.value })}
      />
      {isAsked && (
        <>
          <Select
            label="When it"
            value={texts.on}
            allowDeselect={false}
            onChange={(on) => change({ on: on as RetryTexts['on'] })}
            data={[
              { value: 'both', label: 'failed or was lost' },
              { value: 'failed', label: 'failed' },
              { value: 'lost', label: 'was lost' }
            ]}
          />
          <TextInput
            label="First wait"
            value={texts.backoff}
            title="For example 30 s"
            onChange={(event) => change({ backoff: event.currentTarget.value })}
          />
          <TextInput
            label="Then times"
            value={texts.factor}
            inputMode="decimal"
            title="1: all waits are alike; 2: each is twice the one before"
            onChange={(event) => change({ factor: event.currentTarget.value })}
          />
          <TextInput
            label="Longest wait"
            value={texts.longest}
            title="For example 1 h"
            onChange={(event) => change({ longest: event.currentTarget.value })}
          />
        </>
      )}
      <p
        id={`${id}-words`}
        className={problem === null ? 'dim' : 'tone-bad'}
        role={problem === null ? undefined : 'alert'}
      >
        {problem ?? words}
      </p>
    </div>
  )
}

import { Select } from './select.tsx'
import { TextInput } from '@mantine/core'
import { useId } from 'react'
import type { RetryPolicy } from '../../../shared/contract/index.ts'
import type { Fields } from './form-of-schema.ts'
import classes from './retry-fields.module.css'
import { describeRetry, OUTCOMES, RetryForm, type RetryTexts } from './retry.ts'
import { optionsOf } from './choice-field.tsx'
import { texts } from '../../../shared/texts/ui/shared.ts'

const BACKOFF = [
  { name: 'backoffSeconds', label: texts.backoff, title: texts.backoffHint },
  { name: 'backoffFactor', label: texts.backoffFactor, title: texts.backoffFactorHint },
  { name: 'backoffMaxSeconds', label: texts.maximum, title: texts.backoffMaximumHint }
] as const

interface RetryFieldsProps {
  fields: Fields<RetryTexts>
  inherited?: RetryPolicy | null
}

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
        label={texts.attempts}
        placeholder={fromProject === null ? '1' : texts.fromProject(String(inherited!.attempts))}
        inputMode="numeric"
        aria-describedby={`${id}-words`}
      />
      {isAsked && (
        <>
          <Select {...fields.input('on')} label={texts.retryIf} allowDeselect={false} data={optionsOf(OUTCOMES)} />
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
            ? (describeRetry(read.data) ?? texts.oneAttempt)
            : fromProject === null
              ? texts.noRetry
              : texts.projectSetting(fromProject)}
      </p>
    </div>
  )
}

import { Button, Stack, TextInput } from '@mantine/core'
import { useId, useState } from 'react'
import type { RunLimits } from '../../../shared/contract/index.ts'
import type { Fields } from './form-of-schema.ts'
import classes from './run-limits-fields.module.css'
import { ADVANCED_LIMITS, formatLimit, LIMITS, LIMITS_EVERYWHERE, type LimitTexts, parseLimit } from './run-limits.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

interface LimitsFieldsProps {
  fields: Fields<LimitTexts>
  inherited?: RunLimits | null
  /** `everywhere` shows only limits that every node enforces, `local` only the other limits. Default: all. */
  only?: 'everywhere' | 'local'
}

/** Limits are entered with their unit and reformatted on blur. */
export function RunLimitsFields({ fields, inherited = null, only }: LimitsFieldsProps) {
  const id = useId()
  const [showsAll, setShowsAll] = useState(false)
  const { values } = fields
  const isShown = ({ name }: (typeof LIMITS)[number]) =>
    showsAll || !ADVANCED_LIMITS.has(name) || values[name] !== '' || inherited?.[name] != null
  const all = LIMITS.filter(({ name }) => only === undefined || LIMITS_EVERYWHERE.has(name) === (only === 'everywhere'))
  const shown = all.filter(isShown)
  return (
    <Stack gap={6}>
      {shown.map(({ name, label, text, example }) => {
        const problem = fields.problem(name)
        const fromProject = inherited?.[name]
        return (
          <div key={name} className={`${classes.field} small`}>
            <label htmlFor={`${id}-${name}`}>{label}</label>
            <TextInput
              {...fields.input(name)}
              id={`${id}-${name}`}
              placeholder={fromProject == null ? texts.noLimit : texts.fromProject(formatLimit(name, fromProject))}
              title={texts.example(example)}
              error={problem !== undefined}
              aria-describedby={`${id}-${name}-text`}
              onBlur={() => {
                const read = parseLimit(name, values[name])
                if ('value' in read && read.value !== null) fields.change({ [name]: formatLimit(name, read.value) })
              }}
              spellCheck={false}
            />
            <span
              id={`${id}-${name}-text`}
              className={problem === undefined ? 'dim' : 'tone-bad'}
              role={problem === undefined ? undefined : 'alert'}
            >
              {problem ?? text}
            </span>
          </div>
        )
      })}
      {shown.length < all.length && (
        <Button variant="subtle" color="gray" className={classes.more} onClick={() => setShowsAll(true)}>
          {texts.showAdvancedLimits}
        </Button>
      )}
    </Stack>
  )
}

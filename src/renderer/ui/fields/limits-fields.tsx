import { Button, TextInput } from '@mantine/core'
import { useId, useState } from 'react'
import type { RunLimits } from '../../../shared/contract/index.ts'
import classes from './limits-fields.module.css'
import { ADVANCED_LIMITS, formatLimit, LIMITS, type LimitTexts, parseLimit } from './limits.ts'

interface LimitsFieldsProps {
  texts: LimitTexts
  /** What holds where a field is left empty. */
  inherited?: RunLimits | null
  onChange: (texts: LimitTexts) => void
}

/** A row for each limit: typed with its unit, tidied when it is left, its meaning or what is wrong with it beside it. */
export function LimitsFields({ texts, inherited = null, onChange }: LimitsFieldsProps) {
  const id = useId()
  const [showsAll, setShowsAll] = useState(false)
  const isShown = ({ name }: (typeof LIMITS)[number]) =>
    showsAll || !ADVANCED_LIMITS.has(name) || texts[name] !== '' || inherited?.[name] != null
  const shown = LIMITS.filter(isShown)
  return (
    <div className={classes.fields}>
      {shown.map(({ name, label, text, example }) => {
        const read = parseLimit(name, texts[name])
        const problem = 'problem' in read ? read.problem : null
        const fromProject = inherited?.[name]
        return (
          <div key={name} className={classes.field}>
            <label htmlFor={`${id}-${name}`}>{label}</label>
            <TextInput
              id={`${id}-${name}`}
              value={texts[name]}
              placeholder={fromProject == null ? `no limit` : `project: ${formatLimit(name, fromProject)}`}
              title={`For example ${example}`}
              error={problem !== null}
              aria-describedby={`${id}-${name}-text`}
              onChange={(event) => onChange({ ...texts, [name]: event.currentTarget.value })}
              onBlur={() => {
                const tidy = 'value' in read && read.value !== null ? formatLimit(name, read.value) : texts[name]
                if (tidy !== texts[name]) onChange({ ...texts, [name]: tidy })
              }}
              spellCheck={false}
            />
            <span
              id={`${id}-${name}-text`}
              className={problem === null ? 'dim' : 'tone-bad'}
              role={problem === null ? undefined : 'alert'}
            >
              {problem ?? text}
            </span>
          </div>
        )
      })}
      {shown.length < LIMITS.length && (
        <Button variant="subtle" color="gray" className={classes.more} onClick={() => setShowsAll(true)}>
          Open files, address space…
        </Button>
      )}
    </div>
  )
}

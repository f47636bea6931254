import { ActionIcon, Button, SegmentedControl, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { Fields } from '../../../ui/fields/form-of-schema.ts'
import { CronEditor } from './cron-editor.tsx'
import classes from './editor.module.css'
import { newRule, type ScheduleTexts } from './schedule-form.ts'
import { optionsOf } from '../../../ui/fields/options.ts'

const RULES_MAX = 20

/** When it fires: one rule or several, each a cron expression, an interval, or once. */
export function RuleList({ fields }: { fields: Fields<ScheduleTexts> }) {
  const { rules, zone } = fields.values
  return (
    <div className={classes.rules}>
      {rules.map((rule, index) => {
        const of = rules.length > 1 ? ` of rule ${index + 1}` : ''
        const its = fields.within('rules').within(index)
        return (
          <section key={rule.key} className={classes.rule} aria-label={`Rule ${index + 1}`}>
            <div className={classes.ruleHead}>
              <SegmentedControl
                {...its.input('kind')}
                aria-label={`Kind${of}`}
                data={optionsOf({ cron: 'Cron', interval: 'Interval', once: 'Once' })}
              />
              {rules.length > 1 && (
                <ActionIcon
                  aria-label={`Remove rule ${index + 1}`}
                  onClick={() => fields.change({ rules: rules.filter(({ key }) => key !== rule.key) })}
                >
                  <IconX size={14} />
                </ActionIcon>
              )}
            </div>
            {rule.kind === 'cron' && (
              <CronEditor
                expression={rule.expression}
                zone={zone}
                of={of}
                onChange={(expression) => its.change({ expression })}
              />
            )}
            {rule.kind === 'interval' && (
              <div className={classes.pair}>
                <TextInput
                  {...its.input('everySeconds')}
                  label="Every"
                  aria-label={`Every${of}`}
                  description="Elapsed time, regardless of clock changes: 30 min, 1 h 30 min, 7 d"
                />
                <TextInput
                  {...its.input('anchorMs')}
                  type="datetime-local"
                  step={1}
                  label="Counted from"
                  aria-label={`Counted from${of}`}
                  description={zone}
                />
              </div>
            )}
            {rule.kind === 'once' && (
              <TextInput
                {...its.input('atMs')}
                type="datetime-local"
                step={1}
                label="Run at"
                aria-label={`Run at${of}`}
                description={zone}
                maw={260}
              />
            )}
          </section>
        )
      })}
      {rules.length < RULES_MAX && (
        <Button
          variant="subtle"
          color="gray"
          className={classes.add}
          leftSection={<IconPlus size={14} />}
          onClick={() => fields.change({ rules: [...rules, newRule(zone, Date.now(), { expression: '0 12 * * *' })] })}
        >
          Add rule
        </Button>
      )}
    </div>
  )
}

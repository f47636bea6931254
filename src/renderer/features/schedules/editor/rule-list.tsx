import { ActionIcon, Button, SegmentedControl, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { CronEditor } from './cron-editor.tsx'
import classes from './editor.module.css'
import { newRuleForm, readRule, type RuleForm } from './schedule-form.ts'

const RULES_MAX = 20

interface RuleListProps {
  rules: readonly RuleForm[]
  zone: string
  onChange: (rules: readonly RuleForm[]) => void
}

/** When it fires: one rule or several, each by cron, in even steps, or once. */
export function RuleList({ rules, zone, onChange }: RuleListProps) {
  const set = (key: number, patch: Partial<RuleForm>) =>
    onChange(rules.map((rule) => (rule.key === key ? { ...rule, ...patch } : rule)))
  return (
    <div className={classes.rules}>
      {rules.map((rule, index) => {
        const of = rules.length > 1 ? ` of rule ${index + 1}` : ''
        const read = readRule(rule, zone)
        return (
          <section key={rule.key} className={classes.rule} aria-label={`Rule ${index + 1}`}>
            <div className={classes.ruleHead}>
              <SegmentedControl
                aria-label={`Kind${of}`}
                value={rule.kind}
                onChange={(kind) => set(rule.key, { kind: kind as RuleForm['kind'] })}
                data={[
                  { value: 'cron', label: 'By the calendar' },
                  { value: 'interval', label: 'In even steps' },
                  { value: 'once', label: 'Once' }
                ]}
              />
              {rules.length > 1 && (
                <ActionIcon
                  aria-label={`Remove rule ${index + 1}`}
                  onClick={() => onChange(rules.filter(({ key }) => key !== rule.key))}
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
                onChange={(expression) => set(rule.key, { expression })}
              />
            )}
            {rule.kind === 'interval' && (
              <div className={classes.pair}>
                <TextInput
                  label="Every"
                  aria-label={`Every${of}`}
                  description="Elapsed time, whatever clocks show: 30 min, 1 h 30 min, 7 d"
                  value={rule.every}
                  error={
                    'problem' in read && read.problem.startsWith('Say from')
                      ? null
                      : 'problem' in read
                        ? read.problem
                        : null
                  }
                  onChange={(event) => set(rule.key, { every: event.currentTarget.value })}
                />
                <TextInput
                  type="datetime-local"
                  step={1}
                  label="Counted from"
                  aria-label={`Counted from${of}`}
                  description={zone}
                  value={rule.anchor}
                  onChange={(event) => set(rule.key, { anchor: event.currentTarget.value })}
                />
              </div>
            )}
            {rule.kind === 'once' && (
              <TextInput
                type="datetime-local"
                step={1}
                label="At"
                aria-label={`At${of}`}
                description={zone}
                value={rule.at}
                error={'problem' in read ? read.problem : null}
                onChange={(event) => set(rule.key, { at: event.currentTarget.value })}
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
          onClick={() => onChange([...rules, newRuleForm(zone, Date.now(), { expression: '0 12 * * *' })])}
        >
          Add a rule
        </Button>
      )}
    </div>
  )
}

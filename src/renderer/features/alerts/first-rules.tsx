import { Button, Checkbox, Flex, Group, Stack } from '@mantine/core'
import { IconBell } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { AlertChannelId } from '../../../shared/contract/index.ts'
import { ALERT_WATCH_NAMES, ALERT_WATCHES, type AlertWatch } from '../../../shared/alert-watches.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { newAlertRule } from '../../state/open-dialogs.ts'
import { Dialog, DialogFoot, DialogText } from '../../ui/dialog.tsx'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import form from '../../ui/fields/form.module.css'
import { notifyDone } from '../../ui/notify.tsx'
import { SeverityIcon } from '../../ui/severity.tsx'
import { MultiSelect } from '../../ui/fields/select.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { capitalised, conditionWords } from './alert-words.ts'
import classes from './alerts.module.css'
import { nameOf } from './rule-form.ts'
import { useChannelNames } from './use-names.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

const ANYWHERE = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }
const NO_NAMES = { node: (id: string) => id, schedule: (id: string) => id }

/** The usual rules, without `spider_overdue`: it must name a spider, because some spiders are not meant to run. */
const usual = ALERT_WATCH_NAMES.filter((watch) => watch !== 'spider_overdue').map((watch) => {
  const { compares, usual: values } = ALERT_WATCHES[watch]
  return { watch, comparison: compares[0], ...values, ...ANYWHERE }
})
/** Rules that would fire too often on the first day with alerts. */
const LOUD_AT_FIRST: readonly AlertWatch[] = ['spider_errors', 'spider_unusual', 'error_appears', 'job_runs_long']

export function FirstRules() {
  const { may, why } = useMay('alerts.change', 'everywhere')
  const [isAdding, setAdding] = useState(false)
  return (
    <>
      <EmptyState
        icon={<IconBell size={32} stroke={1.3} />}
        title={texts.noAlertRulesYet}
        action={
          <Group gap={8} justify="center">
            <Button variant="filled" disabled={!may} title={why ?? undefined} onClick={() => setAdding(true)}>
              {texts.addRecommendedRules}
            </Button>
            {may && <Button onClick={() => newAlertRule()}>{texts.newRuleItem}</Button>}
          </Group>
        }
      >
        {texts.noRulesHint}
        {!may && why !== null && <> {why}</>}
      </EmptyState>
      {isAdding && <UsualRulesDialog onClose={() => setAdding(false)} />}
    </>
  )
}

export function UsualRulesDialog({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const channels = useChannelNames()
  const mayAddChannel = useMay('webhooks.change').may
  const [chosen, setChosen] = useState<string[]>([])
  const [wanted, setWanted] = useState<ReadonlySet<AlertWatch>>(
    new Set(usual.map(({ watch }) => watch).filter((watch) => !LOUD_AT_FIRST.includes(watch)))
  )
  const add = useMutation({
    mutationFn: async () => {
      for (const rule of usual.filter(({ watch }) => wanted.has(watch)))
        await client.alertRules.create({
          ...rule,
          name: nameOf(rule, NO_NAMES),
          channels: chosen as AlertChannelId[]
        })
    },
    onSuccess: () => {
      notifyDone(texts.rulesAdded(wanted.size))
      onClose()
    }
  })
  const toggle = (watch: AlertWatch) => {
    const next = new Set(wanted)
    if (!next.delete(watch)) next.add(watch)
    setWanted(next)
  }
  return (
    <Dialog opened onClose={onClose} title={texts.addRecommendedRules} size={560}>
      <div className={form.form}>
        {channels?.length === 0 ? (
          <DialogText>
            {texts.noChannelHint} {mayAddChannel ? texts.addChannelFirst : texts.askForChannel}{' '}
            {mayAddChannel && (
              <Link to="/alerts/channels" search={{ add: true }}>
                {texts.addChannel}
              </Link>
            )}
          </DialogText>
        ) : (
          <MultiSelect
            label={texts.channels}
            description={texts.channelsHint}
            placeholder={chosen.length === 0 ? texts.none : undefined}
            data={(channels ?? []).map(({ id, name }) => ({ value: id as string, label: name }))}
            value={chosen}
            onChange={setChosen}
            data-autofocus
          />
        )}
        <Stack component="fieldset" gap={7}>
          <legend className={form.label}>{texts.notifyWhen}</legend>
          {usual.map((rule) => (
            <Checkbox
              key={rule.watch}
              checked={wanted.has(rule.watch)}
              onChange={() => toggle(rule.watch)}
              label={
                <Flex component="span" display="inline-flex" align="baseline" gap={6} className={classes.usualLabel}>
                  <SeverityIcon severity={rule.severity} size={13} />
                  {capitalised(conditionWords(rule, NO_NAMES))}
                </Flex>
              }
            />
          ))}
        </Stack>
        <FormFailure error={add.error} />
        <DialogFoot says={texts.eachCanBeChangedLater}>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button variant="filled" disabled={wanted.size === 0} loading={add.isPending} onClick={() => add.mutate()}>
            {texts.addRules(wanted.size)}
          </Button>
        </DialogFoot>
      </div>
    </Dialog>
  )
}

import { Button, Flex, Group, Menu, Switch } from '@mantine/core'
import { IconCopy, IconTrash, IconVolume } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type AlertRuleState, AlertRuleSettings } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { editAlertRule, newAlertRule } from '../../state/open-dialogs.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notifyError } from '../../ui/notify.tsx'
import { SeverityIcon } from '../../ui/severity.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { placeOf } from './alert-detail.tsx'
import { capitalised, conditionWords, type Names } from './alert-words.ts'
import classes from './alerts.module.css'
import { adviceOf, firedWords } from './noise.ts'
import { copyOf } from './rule-form.ts'
import { useChannelNames } from './use-names.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

export function RuleRow({ rule, names }: { rule: AlertRuleState; names: Names }) {
  const { query } = useApi()
  const { id, name, enabled, severity, owner, firing, lastFiredAtMs, revision } = rule
  const { may, why } = useMay('alerts.change', placeOf(rule))
  const [isRemoving, setRemoving] = useState(false)
  const channels = useChannelNames()
  const update = useMutation(
    query.alertRules.update.mutationOptions({ onError: (error) => notifyError(texts.couldNotChange(name), error) })
  )
  const advice = adviceOf(rule)
  const condition = conditionWords(rule, names)
  const receivers =
    rule.channels.length === 0
      ? texts.notifiesNobody
      : texts.notifies(
          channels === undefined
            ? texts.channelCount(rule.channels.length)
            : rule.channels
                .map((one) => channels.find((each) => each.id === one)?.name ?? texts.removedChannelName)
                .join(', ')
        )
  return (
    <li className={classes.row} data-off={!enabled || undefined} data-switch aria-label={texts.ruleNamed(name)}>
      <Switch
        checked={enabled}
        disabled={!may || update.isPending}
        title={why ?? (enabled ? texts.ruleOnHint : texts.off)}
        onChange={(event) =>
          update.mutate({ ...AlertRuleSettings.parse(rule), id, revision, enabled: event.currentTarget.checked })
        }
        aria-label={texts.isOn(name)}
      />
      <div className={`${classes.words} grow`}>
        <Group gap="2px 8px" className={classes.head}>
          <SeverityIcon severity={severity} />
          <strong className="semibold">{name}</strong>
          {firing > 0 && (
            <Link to="/alerts" search={{ rule: id, state: 'firing' }}>
              {texts.firingCount(firing)}
            </Link>
          )}
        </Group>
        {capitalised(condition) !== name && <p>{texts.whenCondition(condition)}</p>}
        <p>
          {joinFacts(receivers, rule.escalation !== null && texts.escalates, owner !== '' && texts.ownerNamed(owner))}
        </p>
        {advice !== null && (
          <p className={classes.problem}>
            <IconVolume size={14} className="tone-wait" aria-hidden />
            <span>
              {capitalised(firedWords(rule))}: {advice}
            </span>
          </p>
        )}
      </div>
      <span className={`${classes.facts} fixed dim`}>
        {advice === null && <span title={texts.inLast30Days}>{firedWords(rule)}</span>}
        {lastFiredAtMs !== null && <span>{texts.lastFired(<RelativeTime atMs={lastFiredAtMs} ago />)}</span>}
      </span>
      {may && (
        <Flex component="span" align="center" gap={6} justify="flex-end" className="fixed">
          <Button size="compact-xs" onClick={() => editAlertRule(rule)} aria-label={texts.editNamed(name)}>
            {texts.editItem}
          </Button>
          <MoreMenu label={texts.moreActionsFor(name)} size={24}>
            <Menu.Item leftSection={<IconCopy size={14} />} onClick={() => newAlertRule(copyOf(rule))}>
              {texts.duplicate}
            </Menu.Item>
            <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setRemoving(true)}>
              {texts.removeItem}
            </Menu.Item>
          </MoreMenu>
        </Flex>
      )}
      {isRemoving && <RemoveDialog rule={rule} onClose={() => setRemoving(false)} />}
    </li>
  )
}

function RemoveDialog({ rule: { id, name, firing, enabled }, onClose }: { rule: AlertRuleState; onClose: () => void }) {
  const { query } = useApi()
  const { mutate, isPending, error } = useMutation(query.alertRules.remove.mutationOptions({ onSuccess: onClose }))
  return (
    <ConfirmDialog
      title={texts.askRemove(name)}
      act={texts.remove}
      onAct={() => mutate({ id })}
      isActing={isPending}
      error={error}
      onClose={onClose}
    >
      {firing > 0 && `${texts.firingEndHint(firing)} `}
      {texts.endedAlertsStay}
      {enabled && ` ${texts.turnOffInstead}`}
    </ConfirmDialog>
  )
}

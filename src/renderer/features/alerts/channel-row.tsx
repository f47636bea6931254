import { Button, Flex, Group, Menu, Switch } from '@mantine/core'
import {
  IconBell,
  IconBrandDiscord,
  IconBrandSlack,
  IconBrandTeams,
  IconBrandTelegram,
  IconMail,
  IconPencil,
  IconPuzzle,
  IconSend,
  IconTerminal2,
  IconTrash,
  IconUrgent,
  IconWebhook
} from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type AlertChannel, AlertChannelSettings, type AlertTargetKind } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notifyError } from '../../ui/notify.tsx'
import { OutcomeLine } from '../../ui/outcome-line.tsx'
import { CodeBlock } from '../../ui/panel.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { CHANNEL_KINDS, digestWords, heldWords, limitWords, quietWords } from './alert-words.ts'
import classes from './alerts.module.css'
import { texts } from '../../../shared/texts/ui/alerts.ts'

const ICONS: Record<AlertTargetKind, typeof IconMail> = {
  email: IconMail,
  slack: IconBrandSlack,
  telegram: IconBrandTelegram,
  discord: IconBrandDiscord,
  teams: IconBrandTeams,
  pagerduty: IconUrgent,
  webhook: IconWebhook,
  command: IconTerminal2,
  plugin: IconPuzzle,
  desktop: IconBell
}

export function ChannelRow({ channel, onEdit }: { channel: AlertChannel; onEdit: () => void }) {
  const { query } = useApi()
  const [isRemoving, setRemoving] = useState(false)
  const { id, name, enabled, target, quiet, digest, messagesPerHour, held, problem, projects } = channel
  const { lastDeliveredAtMs, waiting, dead } = channel
  const test = useMutation(
    query.alertChannels.test.mutationOptions({ onError: (error) => notifyError(texts.couldNotTest(name), error) })
  )
  const update = useMutation(
    query.alertChannels.update.mutationOptions({ onError: (error) => notifyError(texts.couldNotChange(name), error) })
  )
  const Icon = ICONS[target.kind]
  return (
    <li className={classes.row} data-off={!enabled || undefined} data-switch aria-label={texts.channelNamed(name)}>
      <Switch
        checked={enabled}
        disabled={update.isPending}
        title={enabled ? texts.onHint : texts.channelOffHint}
        onChange={(event) =>
          update.mutate({ ...AlertChannelSettings.parse(channel), id, enabled: event.currentTarget.checked })
        }
        aria-label={texts.isOn(name)}
      />
      <div className={`${classes.words} grow`}>
        <Group gap="2px 8px" className={classes.head}>
          <Icon size={15} stroke={1.7} aria-hidden />
          <strong className="semibold">{name}</strong>
        </Group>
        <p>{joinFacts(CHANNEL_KINDS[target.kind], placeWords(channel), limitWords(messagesPerHour))}</p>
        {(projects?.length ?? 0) > 0 && <p>{texts.onlyForProjects(projects.join(', '))}</p>}
        {quiet !== null && <p>{texts.quietHours(quietWords(quiet))}</p>}
        {digest !== null && <p>{texts.reportAt(digestWords(digest))}</p>}
        {held !== null && (
          <OutcomeLine tone="wait" role="status">
            {heldWords(held)}. <Link to="/alerts">{texts.seeAllAlerts}</Link>
          </OutcomeLine>
        )}
        {problem !== null && (
          <OutcomeLine tone="wait" role="alert">
            {problem}
          </OutcomeLine>
        )}
        {test.data !== undefined && !test.isPending && (
          <>
            <OutcomeLine tone={test.data.ok ? 'ok' : 'bad'} role="status">
              {test.data.ok ? texts.exampleSent(test.data.answer) : texts.testFailed(test.data.answer)}
            </OutcomeLine>
            {test.data.conversation.length > 0 && (
              <div className={classes.conversation}>
                <CodeBlock label={texts.exchangeWith(name)}>{test.data.conversation.join('\n')}</CodeBlock>
              </div>
            )}
          </>
        )}
      </div>
      <span className={`${classes.facts} fixed dim`}>
        <span>
          {!enabled
            ? texts.offWord
            : lastDeliveredAtMs === null
              ? texts.nothingSentYet
              : texts.lastSent(<RelativeTime atMs={lastDeliveredAtMs} ago />)}
        </span>
        {waiting > 0 && <span className="tone-wait">{texts.waitingCount(waiting)}</span>}
        {dead > 0 && <span className="tone-bad">{texts.givenUpCount(dead)}</span>}
      </span>
      <Flex component="span" align="center" gap={6} justify="flex-end" className="fixed">
        <Button
          size="compact-xs"
          leftSection={<IconSend size={12} />}
          loading={test.isPending}
          onClick={() => test.mutate({ id })}
          aria-label={texts.testNamed(name)}
        >
          {texts.test}
        </Button>
        <MoreMenu label={texts.moreActionsFor(name)} size={24}>
          <Menu.Item leftSection={<IconPencil size={14} />} onClick={onEdit}>
            {texts.editItem}
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setRemoving(true)}>
            {texts.removeItem}
          </Menu.Item>
        </MoreMenu>
      </Flex>
      {isRemoving && <RemoveDialog channel={channel} onClose={() => setRemoving(false)} />}
    </li>
  )
}

function placeWords({ target }: AlertChannel): string | null {
  if (target.kind === 'email') return texts.mailPlace(target.to.join(', '), target.host)
  if (target.kind === 'telegram') return texts.chatPlace(target.chatId)
  if (target.kind === 'webhook') return target.url
  if (target.kind === 'command') return target.command
  return target.kind === 'desktop' ? texts.desktopPlace : null
}

function RemoveDialog({ channel, onClose }: { channel: AlertChannel; onClose: () => void }) {
  const { query } = useApi()
  const rules = useQuery(query.alertRules.list.queryOptions()).data?.rules ?? []
  const { mutate, isPending, error } = useMutation(query.alertChannels.remove.mutationOptions({ onSuccess: onClose }))
  const uses = rules.filter((rule) => rule.channels.includes(channel.id)).length
  return (
    <ConfirmDialog
      title={texts.askRemove(channel.name)}
      act={texts.remove}
      onAct={() => mutate({ id: channel.id })}
      isActing={isPending}
      error={error}
      onClose={onClose}
    >
      {texts.removeChannelHint} {uses > 0 && `${texts.channelUses(uses)} `}
      {texts.turnChannelOffInstead}
    </ConfirmDialog>
  )
}

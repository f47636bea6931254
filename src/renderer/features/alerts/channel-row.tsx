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
import { joinFacts, formatCount, plural } from '../../ui/numbers.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notifyError } from '../../ui/notify.tsx'
import { OutcomeLine } from '../../ui/outcome-line.tsx'
import { CodeBlock } from '../../ui/panel.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { CHANNEL_KINDS, digestWords, heldWords, limitWords, quietWords } from './alert-words.ts'
import classes from './alerts.module.css'

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

/** One channel: where it leads, how it does, and its actions. */
export function ChannelRow({ channel, onEdit }: { channel: AlertChannel; onEdit: () => void }) {
  const { query } = useApi()
  const [isRemoving, setRemoving] = useState(false)
  const { id, name, enabled, target, quiet, digest, messagesPerHour, held, problem, projects } = channel
  const { lastDeliveredAtMs, waiting, dead } = channel
  const test = useMutation(
    query.alertChannels.test.mutationOptions({ onError: (error) => notifyError(`Could not test ${name}`, error) })
  )
  const update = useMutation(
    query.alertChannels.update.mutationOptions({ onError: (error) => notifyError(`Could not change ${name}`, error) })
  )
  const Icon = ICONS[target.kind]
  return (
    <li className={classes.row} data-off={!enabled || undefined} data-switch aria-label={`Channel ${name}`}>
      <Switch
        checked={enabled}
        disabled={update.isPending}
        title={enabled ? 'On. Click to turn off' : 'Off: it gets no messages'}
        onChange={(event) =>
          update.mutate({ ...AlertChannelSettings.parse(channel), id, enabled: event.currentTarget.checked })
        }
        aria-label={`${name} is on`}
      />
      <div className={`${classes.words} grow`}>
        <Group gap="2px 8px" className={classes.head}>
          <Icon size={15} stroke={1.7} aria-hidden />
          <strong>{name}</strong>
        </Group>
        <p>{joinFacts(CHANNEL_KINDS[target.kind], placeWords(channel), limitWords(messagesPerHour))}</p>
        {(projects?.length ?? 0) > 0 && <p>Only for {projects.join(', ')}</p>}
        {quiet !== null && <p>Quiet hours {quietWords(quiet)}</p>}
        {digest !== null && <p>Report {digestWords(digest)}</p>}
        {held !== null && (
          <OutcomeLine tone="wait" role="status">
            {heldWords(held)}. <Link to="/alerts">See all alerts</Link>
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
              {test.data.ok ? 'Example sent: ' : 'Test failed: '}
              {test.data.answer}
            </OutcomeLine>
            {test.data.conversation.length > 0 && (
              <div className={classes.conversation}>
                <CodeBlock label={`Conversation with ${name}`}>{test.data.conversation.join('\n')}</CodeBlock>
              </div>
            )}
          </>
        )}
      </div>
      <span className={`${classes.facts} fixed dim`}>
        <span>
          {!enabled ? (
            'off'
          ) : lastDeliveredAtMs === null ? (
            'nothing sent yet'
          ) : (
            <>
              last sent <RelativeTime atMs={lastDeliveredAtMs} suffix=" ago" />
            </>
          )}
        </span>
        {waiting > 0 && <span className="tone-wait">{formatCount(waiting)} waiting</span>}
        {dead > 0 && <span className="tone-bad">{formatCount(dead)} given up</span>}
      </span>
      <Flex component="span" align="center" gap={6} justify="flex-end" className="fixed">
        <Button
          size="compact-xs"
          leftSection={<IconSend size={12} />}
          loading={test.isPending}
          onClick={() => test.mutate({ id })}
          aria-label={`Test ${name}`}
        >
          Test
        </Button>
        <MoreMenu label={`More actions for ${name}`} size={24}>
          <Menu.Item leftSection={<IconPencil size={14} />} onClick={onEdit}>
            Edit…
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setRemoving(true)}>
            Remove…
          </Menu.Item>
        </MoreMenu>
      </Flex>
      {isRemoving && <RemoveDialog channel={channel} onClose={() => setRemoving(false)} />}
    </li>
  )
}

/** Where a channel leads, but for what is secret. */
function placeWords({ target }: AlertChannel): string | null {
  if (target.kind === 'email') return `to ${target.to.join(', ')}, by ${target.host}`
  if (target.kind === 'telegram') return `chat ${target.chatId}`
  if (target.kind === 'webhook') return target.url
  if (target.kind === 'command') return target.command
  return target.kind === 'desktop' ? 'everyone with Scrapdeck open' : null
}

function RemoveDialog({ channel, onClose }: { channel: AlertChannel; onClose: () => void }) {
  const { query } = useApi()
  const rules = useQuery(query.alertRules.list.queryOptions()).data?.rules ?? []
  const { mutate, isPending, error } = useMutation(query.alertChannels.remove.mutationOptions({ onSuccess: onClose }))
  const uses = rules.filter((rule) => rule.channels.includes(channel.id)).length
  return (
    <ConfirmDialog
      title={`Remove ${channel.name}?`}
      act="Remove"
      onAct={() => mutate({ id: channel.id })}
      isActing={isPending}
      error={error}
      onClose={onClose}
    >
      Its secret and the messages that wait are deleted.
      {uses > 0 &&
        ` ${plural(uses, 'rule')} ${uses === 1 ? 'tells' : 'tell'} it and then ${uses === 1 ? 'does' : 'do'} not any more.`}{' '}
      Turn it off instead to keep it.
    </ConfirmDialog>
  )
}

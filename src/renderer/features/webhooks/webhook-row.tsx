import { Button, Flex, Group, Menu, Stack, Switch } from '@mantine/core'
import { IconKey, IconPencil, IconSend, IconTrash } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Webhook } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notifyError } from '../../ui/notify.tsx'
import { OutcomeLine } from '../../ui/outcome-line.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { eventWords, problemWords } from './webhook-form.ts'
import classes from './webhooks.module.css'
import { texts } from '../../../shared/texts/ui/webhooks.ts'

interface WebhookRowProps {
  webhook: Webhook
  onEdit: () => void
  onDeliveries: () => void
  onSecret: (rotated: { webhook: Webhook; secret: string }) => void
}

export function WebhookRow({ webhook, onEdit, onDeliveries, onSecret }: WebhookRowProps) {
  const { query } = useApi()
  const [asking, setAsking] = useState<'remove' | 'rotate' | null>(null)
  const test = useMutation(
    query.webhooks.test.mutationOptions({ onError: (error) => notifyError(texts.couldNotTest(webhook.name), error) })
  )
  const update = useMutation(
    query.webhooks.update.mutationOptions({
      onError: (error) => notifyError(texts.couldNotChange(webhook.name), error)
    })
  )
  const { id, name, url, enabled, problem, dead, waiting, lastDeliveredAtMs } = webhook
  return (
    <li className={classes.row} data-off={!enabled || undefined} aria-label={texts.webhookLabel(name)}>
      <Group gap={10} wrap="nowrap" miw={0} className={classes.rowHead}>
        <Switch
          size="xs"
          checked={enabled}
          disabled={update.isPending}
          onChange={(event) => update.mutate({ ...settingsOf(webhook), id, enabled: event.currentTarget.checked })}
          aria-label={texts.isOn(name)}
          title={enabled ? texts.onHint : texts.switchOffHint}
        />
        <strong className="ellipsis">{name}</strong>
        <Flex component="span" align="center" gap={6} className={`${classes.rowActs} fixed push`}>
          <Button
            size="compact-xs"
            leftSection={<IconSend size={12} />}
            loading={test.isPending}
            onClick={() => test.mutate({ id })}
          >
            {texts.test}
          </Button>
          <Button size="compact-xs" onClick={onDeliveries}>
            {texts.deliveries}
          </Button>
          <MoreMenu label={texts.moreActionsFor(name)} size={22}>
            <Menu.Item leftSection={<IconPencil size={14} />} onClick={onEdit}>
              {texts.editItem}
            </Menu.Item>
            <Menu.Item leftSection={<IconKey size={14} />} onClick={() => setAsking('rotate')}>
              {texts.newSecretMenu}
            </Menu.Item>
            <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setAsking('remove')}>
              {texts.removeItem}
            </Menu.Item>
          </MoreMenu>
        </Flex>
      </Group>
      <Stack gap={1} className={classes.rowFacts}>
        <span className={`${classes.url} mono break`}>{url}</span>
        <span className="dim">{eventWords(webhook)}</span>
        <span className="dim">
          {!enabled
            ? texts.offNothingSent
            : lastDeliveredAtMs === null
              ? texts.noDeliveriesYet
              : texts.lastDeliveredAgo(<RelativeTime atMs={lastDeliveredAtMs} />)}
          {waiting > 0 && <span className="tone-wait"> · {texts.waitingCount(waiting)}</span>}
          {dead > 0 && <span className="tone-bad"> · {texts.givenUpCount(dead)}</span>}
        </span>
      </Stack>
      {problem !== null && (
        <div className={classes.outcome}>
          <OutcomeLine tone="wait" role="alert">
            {problemWords({ problem, enabled })}
          </OutcomeLine>
        </div>
      )}
      {test.data !== undefined && !test.isPending && (
        <div className={classes.outcome}>
          <OutcomeLine tone={test.data.ok ? 'ok' : 'bad'} role="status">
            {test.data.ok ? texts.testDelivered(test.data.answer) : texts.testFailed(test.data.answer)}
          </OutcomeLine>
        </div>
      )}
      {asking === 'remove' && <RemoveDialog webhook={webhook} onClose={() => setAsking(null)} />}
      {asking === 'rotate' && (
        <RotateDialog
          webhook={webhook}
          onClose={() => setAsking(null)}
          onRotated={(rotated) => {
            setAsking(null)
            onSecret(rotated)
          }}
        />
      )}
    </li>
  )
}

const settingsOf = ({ name, url, events, project }: Webhook) => ({ name, url, events, project })

function RemoveDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { query } = useApi()
  const { mutate, isPending, error } = useMutation(query.webhooks.remove.mutationOptions({ onSuccess: onClose }))
  const unsent = webhook.waiting + webhook.dead
  return (
    <ConfirmDialog
      title={texts.removeTitle(webhook.name)}
      act={texts.remove}
      onAct={() => mutate({ id: webhook.id })}
      isActing={isPending}
      error={error}
      onClose={onClose}
    >
      {unsent > 0 ? texts.removeUnsentHint(unsent) : texts.removeHint}
    </ConfirmDialog>
  )
}

interface RotateDialogProps {
  webhook: Webhook
  onClose: () => void
  onRotated: (rotated: { webhook: Webhook; secret: string }) => void
}

function RotateDialog({ webhook, onClose, onRotated }: RotateDialogProps) {
  const { query } = useApi()
  const { mutate, isPending, error } = useMutation(query.webhooks.rotate.mutationOptions({ onSuccess: onRotated }))
  return (
    <ConfirmDialog
      title={texts.newSecretTitle(webhook.name)}
      act={texts.createSecret}
      onAct={() => mutate({ id: webhook.id })}
      isActing={isPending}
      error={error}
      isHarmless
      onClose={onClose}
    >
      {texts.newSecretHint}
    </ConfirmDialog>
  )
}

import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Webhook } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { Panel } from '../../ui/panel.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { QueryState } from '../../ui/states.tsx'
import { DeliveriesDialog } from './deliveries-dialog.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'
import { WebhookRow } from './webhook-row.tsx'
import classes from './webhooks.module.css'
import { texts } from '../../../shared/texts/ui/webhooks.ts'

export function WebhooksPanel() {
  const { query } = useApi()
  const webhooks = useQuery(query.webhooks.list.queryOptions())
  const [editing, setEditing] = useState<Webhook | 'new' | null>(null)
  const [openId, setOpenId] = useState<string | null>(null)
  const [secret, setSecret] = useState<{ title: string; secret: string } | null>(null)
  const open = webhooks.data?.webhooks.find(({ id }) => id === openId)
  return (
    <Panel
      title={texts.webhooks}
      note={texts.webhooksNote}
      aside={
        <Button size="compact-xs" leftSection={<IconPlus size={13} />} onClick={() => setEditing('new')}>
          {texts.addWebhook}
        </Button>
      }
      flush
    >
      <QueryState query={webhooks} what={texts.theWebhooks} rows={3}>
        {(data) =>
          data.webhooks.length === 0 ? (
            <p className={`${classes.none} dim`}>{texts.noWebhooksHint}</p>
          ) : (
            <ul className="divided">
              {data.webhooks.map((webhook) => (
                <WebhookRow
                  key={webhook.id}
                  webhook={webhook}
                  onEdit={() => setEditing(webhook)}
                  onDeliveries={() => setOpenId(webhook.id)}
                  onSecret={(rotated) => setSecret({ title: texts.secretTitle(webhook.name), secret: rotated.secret })}
                />
              ))}
            </ul>
          )
        }
      </QueryState>
      {editing !== null && (
        <WebhookDialog
          webhook={editing === 'new' ? null : editing}
          onClose={() => setEditing(null)}
          onCreated={(created) => setSecret({ title: texts.addedTitle(created.webhook.name), secret: created.secret })}
        />
      )}
      {secret !== null && <SecretDialog {...secret} onClose={() => setSecret(null)} />}
      {open !== undefined && <DeliveriesDialog webhook={open} onClose={() => setOpenId(null)} />}
    </Panel>
  )
}

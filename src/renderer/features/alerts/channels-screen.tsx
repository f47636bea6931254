import { Button } from '@mantine/core'
import { IconLock, IconPlus, IconSend } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { AlertChannel } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay, useMe } from '../../api/use-me.ts'
import type { AlertChannelsSearch } from '../../state/search.ts'
import { Panel, ScreenHead, PanelsScreen } from '../../ui/panel.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { AlertsTabs } from './alerts-tabs.tsx'
import { ChannelDialog } from './channel-dialog.tsx'
import { ChannelRow } from './channel-row.tsx'
import { texts } from '../../../shared/texts/ui/alerts.ts'

export function ChannelsScreen() {
  const me = useMe()
  const { may, why } = useMay('webhooks.change')
  if (!me.isPending && !may)
    return (
      <PanelsScreen>
        <ScreenHead title={texts.alerts} views={<AlertsTabs />} />
        <EmptyState icon={<IconLock size={32} stroke={1.3} />} title={texts.channelsHidden}>
          {texts.rulesCanUseChannels(why ?? '')}
        </EmptyState>
      </PanelsScreen>
    )
  return <Channels />
}

function Channels() {
  const { query } = useApi()
  const route = getRouteApi('/alerts/channels')
  const search: AlertChannelsSearch = route.useSearch()
  const navigate = route.useNavigate()
  const go = (next: AlertChannelsSearch) => void navigate({ search: next })
  const channels = useQuery(query.alertChannels.list.queryOptions())
  const [made, setMade] = useState<{ channel: AlertChannel; secret: string } | null>(null)
  const editing = channels.data?.channels.find(({ id }) => id === search.channel)
  const add = (
    <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={() => go({ add: true })}>
      {texts.addChannel}
    </Button>
  )
  return (
    <PanelsScreen>
      <ScreenHead
        title={texts.alerts}
        views={<AlertsTabs />}
        note={channels.data && texts.channelCount(channels.data.channels.length)}
      >
        {add}
      </ScreenHead>
      <QueryState query={channels} what={texts.theChannels} rows={6}>
        {(data) =>
          data.channels.length === 0 ? (
            <EmptyState icon={<IconSend size={32} stroke={1.3} />} title={texts.noChannelsYet} action={add}>
              {texts.noChannelsHint}
            </EmptyState>
          ) : (
            <Panel flush>
              <ul className="divided">
                {data.channels.map((channel) => (
                  <ChannelRow key={channel.id} channel={channel} onEdit={() => go({ channel: channel.id })} />
                ))}
              </ul>
            </Panel>
          )
        }
      </QueryState>
      {(search.add === true || editing !== undefined) && (
        <ChannelDialog
          key={editing?.id ?? 'new'}
          channel={editing ?? null}
          onClose={() => go({})}
          onCreated={({ channel, secret }) => secret !== undefined && setMade({ channel, secret })}
        />
      )}
      {made !== null && (
        <SecretDialog
          title={texts.channelAdded(made.channel.name)}
          secret={made.secret}
          onClose={() => setMade(null)}
        />
      )}
    </PanelsScreen>
  )
}

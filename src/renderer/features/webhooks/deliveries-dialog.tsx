import { Dialog } from '../../ui/dialog.tsx'
import { Button, Flex, Group, SegmentedControl } from '@mantine/core'
import { IconCheck, IconClock, IconRefresh, IconX } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Delivery, Webhook } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { useNow } from '../../ui/clock.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { notifyDone, notifyError } from '../../ui/notify.tsx'
import { QueryState } from '../../ui/states.tsx'
import { formatInstant, RelativeTime } from '../../ui/time.tsx'
import classes from './webhooks.module.css'
import { texts } from '../../../shared/texts/ui/webhooks.ts'

const PAGE_ROWS = 50
type Shown = Delivery['state'] | 'all'

const LOOKS = {
  delivered: { tone: 'ok', Icon: IconCheck, word: texts.delivered, none: texts.noneDelivered },
  waiting: { tone: 'wait', Icon: IconClock, word: texts.waitingDeliveries, none: texts.noneWaiting },
  dead: { tone: 'bad', Icon: IconX, word: texts.givenUp, none: texts.noneGivenUp }
} as const

export function DeliveriesDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { query } = useApi()
  const [shown, setShown] = useState<Shown>(webhook.dead > 0 ? 'dead' : 'all')
  const deliveries = useInfiniteQuery(
    query.webhooks.deliveries.infiniteOptions({
      input: (before: string | undefined) => ({
        id: webhook.id,
        state: shown === 'all' ? undefined : shown,
        before,
        limit: PAGE_ROWS
      }),
      initialPageParam: undefined,
      getNextPageParam: ({ nextBefore }) => nextBefore ?? undefined,
      placeholderData: keepPreviousData
    })
  )
  const replay = useMutation(
    query.webhooks.replay.mutationOptions({
      onSuccess: ({ replayed }) => {
        notifyDone(texts.queuedAgain(replayed, webhook.name))
        void deliveries.refetch()
      },
      onError: (error) => notifyError(texts.couldNotSendAgain(webhook.name), error)
    })
  )
  return (
    <Dialog opened onClose={onClose} title={texts.deliveriesTitle(webhook.name)} size={760}>
      <Group align="stretch" gap={8} justify="space-between" mb={10}>
        <SegmentedControl
          aria-label={texts.deliveryFilter}
          value={shown}
          onChange={(value) => setShown(value as Shown)}
          data={[
            { value: 'all', label: texts.all },
            {
              value: 'waiting',
              label: webhook.waiting > 0 ? texts.waitingFilterCount(webhook.waiting) : texts.waitingFilter
            },
            { value: 'delivered', label: texts.deliveredFilter },
            { value: 'dead', label: webhook.dead > 0 ? texts.givenUpFilterCount(webhook.dead) : texts.givenUpFilter }
          ]}
        />
        {webhook.dead > 1 && (
          <Button
            leftSection={<IconRefresh size={13} />}
            loading={replay.isPending && replay.variables.deliveryIds?.length === 0}
            onClick={() => replay.mutate({ id: webhook.id, deliveryIds: [] })}
          >
            {texts.sendAllAgain(webhook.dead)}
          </Button>
        )}
      </Group>
      <QueryState query={deliveries} what={texts.theDeliveries} rows={6}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.deliveries)
          if (rows.length === 0)
            return (
              <p className={`${classes.none} dim`}>{shown === 'all' ? texts.noDeliveriesHint : LOOKS[shown].none}</p>
            )
          return (
            <>
              <ul className="box divided">
                {rows.map((delivery) => (
                  <DeliveryRow
                    key={delivery.id}
                    delivery={delivery}
                    isBusy={replay.isPending}
                    onReplay={() => replay.mutate({ id: webhook.id, deliveryIds: [delivery.id] })}
                  />
                ))}
              </ul>
              {deliveries.hasNextPage && (
                <Button mt={8} loading={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
                  {texts.showOlderDeliveries}
                </Button>
              )}
            </>
          )
        }}
      </QueryState>
    </Dialog>
  )
}

function DeliveryRow({ delivery, isBusy, onReplay }: { delivery: Delivery; isBusy: boolean; onReplay: () => void }) {
  const { id, event, state, tries, madeAtMs, nextTryAtMs, answer } = delivery
  const { tone, Icon, word } = LOOKS[state]
  return (
    <li className={classes.delivery}>
      <span className={`tone-${tone} inline`}>
        <Icon size={14} stroke={2.2} aria-hidden />
        {word}
      </span>
      <span>{event}</span>
      <span className="dim">
        <RelativeTime atMs={madeAtMs} ago />
      </span>
      <span className={`dim ${classes.tries}`}>
        {nextTryAtMs === null ? texts.tries(tries) : <NextTry tries={texts.tries(tries)} atMs={nextTryAtMs} />}
      </span>
      <Flex component="span" align="center" gap={6} justify="flex-end">
        <CopyButton value={id} what={texts.copyId(id)} />
        {state !== 'waiting' && (
          <Button
            size="compact-xs"
            disabled={isBusy}
            onClick={onReplay}
            aria-label={texts.sendAgainLabel(event, formatInstant(madeAtMs))}
          >
            {texts.sendAgain}
          </Button>
        )}
      </Flex>
      {answer !== null && state !== 'delivered' && (
        <span className={`mono dim ellipsis ${classes.deliveryAnswer}`} title={answer}>
          {/^\d{3}\b/.test(answer) ? texts.responded(answer) : answer}
        </span>
      )}
    </li>
  )
}

function NextTry({ tries, atMs }: { tries: string; atMs: number }) {
  const leftMs = atMs - useNow()
  return (
    <span title={formatInstant(atMs)}>
      {leftMs > 0 ? texts.nextTryIn(tries, formatAge(leftMs + 999)) : texts.nextTryNow(tries)}
    </span>
  )
}

import { ActionIcon, Button, Switch, Tooltip } from '@mantine/core'
import { IconAlertTriangle, IconTrash } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type Chain, type ChainId, ChainSettings } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { useMay } from '../../../api/use-me.ts'
import { notifyError, notifyUndo } from '../../../ui/notify.tsx'
import { formatCount } from '../../../ui/numbers.ts'
import { RelativeTime } from '../../../ui/time.tsx'
import { whatWords } from '../schedule-words.ts'
import { ENDINGS, spiderWords } from './chain-words.tsx'
import classes from './chains.module.css'

export function ChainRows({ chains, onEdit }: { chains: readonly Chain[]; onEdit: (id: ChainId) => void }) {
  return (
    <ul>
      {chains.map((chain) => (
        <ChainRow key={chain.id} chain={chain} onEdit={() => onEdit(chain.id)} />
      ))}
    </ul>
  )
}

/** As a sentence: when this ends with that outcome, run that. */
function ChainRow({ chain, onEdit }: { chain: Chain; onEdit: () => void }) {
  const { client, query } = useApi()
  const { id, name, enabled, project, spider, on, run, firedCount, lastFiredAtMs, problem } = chain
  const { may } = useMay('schedules.change', { project })
  const update = useMutation(
    query.chains.update.mutationOptions({ onError: (error) => notifyError(`Could not change ${name}`, error) })
  )
  const remove = useMutation(
    query.chains.remove.mutationOptions({
      onSuccess: () => {
        // Only the engine knows the secrets: a chain created again would lack them.
        const note = run.secretNames.length > 0 ? '. If you undo this, enter its secrets again' : ''
        notifyUndo(`The chain ${name} was removed${note}.`, () => client.chains.create(ChainSettings.parse(chain)))
      },
      onError: (error) => notifyError(`Could not remove ${name}`, error)
    })
  )
  const { tone, sentence, Icon } = ENDINGS[on]
  return (
    <li className={classes.row} data-off={!enabled || undefined} aria-label={`Chain ${name}`}>
      <Switch
        size="xs"
        checked={enabled}
        disabled={!may || update.isPending}
        onChange={(event) => update.mutate({ ...ChainSettings.parse(chain), id, enabled: event.currentTarget.checked })}
        aria-label={`${name} is on`}
      />
      <div className={classes.rowWords}>
        <strong>{name}</strong>
        <p>
          when <span className={classes.what}>{spiderWords(project, spider)}</span>{' '}
          <span className={`tone-${tone} ${classes.ending}`}>
            <Icon size={13} stroke={2.2} aria-hidden /> {sentence}
          </span>
          , run <span className={classes.what}>{whatWords([run])}</span>
        </p>
        {problem !== null && (
          <p className={classes.problem} role="alert">
            <IconAlertTriangle size={14} className="tone-wait" aria-hidden /> {problem}
          </p>
        )}
      </div>
      <span className={`dim ${classes.fired}`}>
        {firedCount === 0 ? (
          'never run'
        ) : (
          <>
            {firedCount === 1 ? 'once' : `${formatCount(firedCount)} times`}
            {lastFiredAtMs !== null && (
              <>
                , last <RelativeTime atMs={lastFiredAtMs} suffix=" ago" />
              </>
            )}
          </>
        )}
      </span>
      <span className={classes.rowActs}>
        {!spider.includes('*') && !project.includes('*') && (
          <Link to="/jobs" search={{ project, spider }} className={classes.jobsLink}>
            Show jobs
          </Link>
        )}
        {may && (
          <>
            <Button size="compact-xs" onClick={onEdit} aria-label={`Edit ${name}`}>
              Edit…
            </Button>
            <Tooltip label="Remove">
              <ActionIcon
                size={24}
                disabled={remove.isPending}
                onClick={() => remove.mutate({ id })}
                aria-label={`Remove ${name}`}
              >
                <IconTrash size={14} />
              </ActionIcon>
            </Tooltip>
          </>
        )}
      </span>
    </li>
  )
}

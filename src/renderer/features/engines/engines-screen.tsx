import { Badge, Flex } from '@mantine/core'
import { IconServerBolt } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { EngineInfo, EngineList } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { hasBrowserSession } from '../../api/browser-session.ts'
import { explainError } from '../../api/explain-error.ts'
import { Panel, ScreenHead, PanelsScreen } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { useEnginesInUse } from '../../ui/use-engines-in-use.ts'
import { EngineRow } from './engine-row.tsx'
import classes from './engines.module.css'
import { HandOverDialog } from './hand-over-dialog.tsx'
import { inOrder, livingVersions } from './engine-rules.ts'
import { texts } from '../../../shared/texts/ui/engines.ts'

/** The polling interval. The change feed omits engines, because each of them sends a heartbeat every second. */
const EVERY_MS = 2_000

export function EnginesScreen() {
  const { query } = useApi()
  const engines = useQuery(query.engines.list.queryOptions({ refetchInterval: EVERY_MS, staleTime: 0 }))
  const inUse = useEnginesInUse()
  const { data, dataUpdatedAt, error } = engines
  return (
    <PanelsScreen>
      <ScreenHead title={texts.engines} note={data?.shared && texts.engineCount(data.engines.length)} />
      {data !== undefined && error !== null && (
        <p className="notice-wait" role="status">
          {texts.outdatedList(<RelativeTime atMs={dataUpdatedAt} />, explainError(error).text)}
        </p>
      )}
      <QueryState query={engines} what={texts.theEngines} rows={3}>
        {(list) =>
          list.shared ? (
            <SharedEngines list={list} readAtMs={dataUpdatedAt} own={inUse?.own ?? null} />
          ) : (
            <EmptyState icon={<IconServerBolt size={32} stroke={1.3} />} title={texts.oneEngine}>
              {texts.oneEngineHint(<ScalingPage />)}
            </EmptyState>
          )
        }
      </QueryState>
    </PanelsScreen>
  )
}

interface SharedEnginesProps {
  list: EngineList
  readAtMs: number
  own: string | null
}

function SharedEngines({ list: { engines, terms }, readAtMs, own }: SharedEnginesProps) {
  const [handingTo, setHandingTo] = useState<EngineInfo | null>(null)
  const [asked, setAsked] = useState<{ id: string; untilMs: number } | null>(null)
  const versions = livingVersions(engines)
  const hasLeader = engines.some(({ state }) => state === 'leading')
  const living = engines.filter(({ state }) => state !== 'silent')
  return (
    <>
      <Panel title={texts.onThisDatabase} flush>
        <ul className={`${classes.list} divided`}>
          {inOrder(engines).map((engine) => (
            <EngineRow
              key={engine.id}
              engine={engine}
              all={engines}
              readAtMs={readAtMs}
              isOwn={engine.name === own && engine.state !== 'silent'}
              isTakingOver={asked?.id === engine.id && readAtMs < asked.untilMs}
              onHandOver={() => setHandingTo(engine)}
            />
          ))}
        </ul>
        {living.length < 2 && <p className={`${classes.hint} dim`}>{texts.noStandbyHint(<ScalingPage />)}</p>}
        {versions.length > 1 && <p className={`${classes.hint} dim`}>{texts.mixedVersions(versions.join(', '))}</p>}
      </Panel>
      <Panel title={texts.leaders} note={texts.newestFirst} flush>
        <ol className="divided" aria-label={texts.leaders}>
          {terms.map(({ epoch, engine, sinceMs, reason }, index) => (
            <li key={epoch} className={classes.term}>
              <span className="dim">
                <RelativeTime atMs={sinceMs} ago />
              </span>
              <Flex component="span" align="center" gap="2px 8px" wrap="wrap" miw={0} className="break">
                <strong>{engine}</strong>
                {index === 0 && hasLeader && (
                  <Badge size="xs" variant="default">
                    {texts.now}
                  </Badge>
                )}
              </Flex>
              <span className={`${classes.reason} break`}>{reason}</span>
            </li>
          ))}
        </ol>
      </Panel>
      {handingTo !== null && (
        <HandOverDialog
          engine={handingTo}
          onAsked={() => setAsked({ id: handingTo.id, untilMs: Date.now() + TAKEOVER_LIMIT_MS })}
          onClose={() => setHandingTo(null)}
        />
      )}
    </>
  )
}

/**
 * How long to wait for a new leader. The chosen engine has 3 s to take the lease, and then starts up before it serves
 * requests.
 */
const TAKEOVER_LIMIT_MS = 15_000

function ScalingPage() {
  if (!hasBrowserSession()) return <span className="mono">{texts.scalingDoc}</span>
  return (
    <a href={new URL('../docs/scaling#several-engines', document.baseURI).href} target="_blank" rel="noreferrer">
      {texts.scalingPage}
    </a>
  )
}

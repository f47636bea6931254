import { Button, Group } from '@mantine/core'
import { IconAlertTriangle, IconCheck, IconLoader2, IconX } from '@tabler/icons-react'
import type { Deployment, Node, NodeId, Version } from '../../../shared/contract/index.ts'
import { FieldRow } from '../../ui/panel.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { DeployProgress } from './deploy-progress.tsx'
import { isDrift, type Place, placeOf } from './compare-versions.ts'
import classes from './projects.module.css'
import { useDeploy } from './use-deploy.ts'
import { texts } from '../../../shared/texts/ui/projects.ts'

const PLACES: Record<Place, string> = {
  present: texts.present,
  sending: texts.sending,
  failed: texts.failed,
  missing: texts.missing,
  foreign: texts.foreign,
  replaced: texts.replaced
}
const WORDS: Record<Exclude<Place, 'present'>, string> = {
  sending: texts.placeSending,
  failed: texts.failed,
  missing: texts.placeMissing,
  foreign: texts.placeForeign,
  replaced: texts.placeReplaced
}

export function VersionPlaces({ version, nodes }: { version: Version; nodes: readonly Node[] }) {
  const deploy = useDeploy(version.project, version.version)
  const known = new Map(nodes.map((node) => [node.id, node]))
  const places = version.deployments
    .filter(({ nodeId }) => known.has(nodeId))
    .map((deployment) => ({ deployment, place: placeOf(version, deployment) }))
  const there = places.filter(({ place }) => place === 'present')
  const others = places.filter(({ place }) => place !== 'present')
  const isThere = new Set(there.map(({ deployment }) => deployment.nodeId))
  const without = nodes.filter(({ id }) => !isThere.has(id))
  const drifted = others.filter(({ place }) => isDrift(place) || place === 'failed')
  const nameOf = (nodeId: NodeId) => known.get(nodeId)?.name ?? nodeId
  const canSend = version.sha256 !== null
  return (
    <>
      <FieldRow label={texts.onNodes}>
        {there.map(({ deployment }) => nameOf(deployment.nodeId)).join(', ') || texts.noNodesYet}
      </FieldRow>
      {others.length > 0 && (
        <ul className={classes.places} aria-label={texts.problemsOf(version.version)}>
          {others.map(({ deployment, place }) => (
            <li key={deployment.nodeId} className="line">
              <PlaceIcon place={place} />
              <strong>{nameOf(deployment.nodeId)}</strong>
              <span className="grow">
                <PlaceWords deployment={deployment} place={place} />
              </span>
              {canSend && place !== 'sending' && !deploy.hasStarted && (
                <Button
                  size="compact-xs"
                  aria-label={texts.sendTo(version.version, nameOf(deployment.nodeId))}
                  onClick={() => deploy.start([deployment.nodeId])}
                >
                  {place === 'foreign' ? texts.replace : texts.sendAgain}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {deploy.hasStarted ? (
        <DeployProgress deploy={deploy} expected={deploy.deployments.size} />
      ) : (
        canSend && (
          <Group align="stretch" gap={8}>
            {drifted.length > 1 && (
              <Button onClick={() => deploy.start(drifted.map(({ deployment }) => deployment.nodeId))}>
                {texts.repairNodes(drifted.length)}
              </Button>
            )}
            {without.length > drifted.length && (
              <Button onClick={() => deploy.start(without.map(({ id }) => id))}>
                {texts.deployToRest(without.length)}
              </Button>
            )}
          </Group>
        )
      )}
    </>
  )
}

function PlaceWords({ deployment, place }: { deployment: Deployment; place: Place }) {
  if (place === 'present') return null
  if (place === 'failed') return <span className="tone-bad">{deployment.error ?? texts.failedWithoutReason}</span>
  return (
    <>
      {WORDS[place]}{' '}
      <span className="faint">
        <RelativeTime atMs={deployment.changedAtMs} ago />
      </span>
    </>
  )
}

function PlaceIcon({ place }: { place: Place }) {
  const common = { size: 14, role: 'img', 'aria-label': PLACES[place] } as const
  if (place === 'failed') return <IconX {...common} className="tone-bad" />
  if (place === 'sending') return <IconLoader2 {...common} />
  if (isDrift(place)) return <IconAlertTriangle {...common} className="tone-wait" />
  return <IconCheck {...common} className="tone-ok" />
}

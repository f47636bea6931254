import { Badge, Button, Flex, Group, Menu } from '@mantine/core'
import { IconPencil, IconTrash } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Node, NodeMode, Version } from '../../../shared/contract/index.ts'
import { engineOfAddress } from '../../../shared/engine-address.ts'
import { formatDuration } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { CopyText } from '../../ui/copy-button.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notifyError } from '../../ui/notify.tsx'
import { formatCpuShare, formatMemory } from '../../ui/numbers.ts'
import { pythonWords, StartModeText } from '../../ui/environment.tsx'
import { PaneHead, DetailPane, FieldRow } from '../../ui/panel.tsx'
import { CreateEnvironment } from '../../ui/python-environment.tsx'
import { isTroubled, NodeHealthDot, nodeWord } from '../../ui/status.tsx'
import { TellMe } from '../../ui/tell-me.tsx'
import { RelativeTime, Runtime } from '../../ui/time.tsx'
import { Environments } from './environments.tsx'
import { RunElsewhereButton } from '../../ui/run-elsewhere.tsx'
import { WhyVanished } from './discovery/why-vanished.tsx'
import { ExternalRun } from './external-run.tsx'
import { clusterOf, isStale, SlotsBar } from './node-columns.tsx'
import classes from './node-detail.module.css'
import { NodeToken } from './node-token.tsx'
import { NodeForm } from './node-form.tsx'
import { useRemoveNode } from './remove-node.tsx'
import { texts } from '../../../shared/texts/ui/nodes.ts'
import { isUnreachable } from '../../../shared/node-health.ts'

interface NodeDetailProps {
  node: Node
  openLog: string | undefined
  onLog: (environmentId: string | undefined) => void
  onClose: () => void
}

export function NodeDetail({ node, openLog, onLog, onClose }: NodeDetailProps) {
  const { may } = useMay('nodes.change', node)
  const [editing, setEditing] = useState(false)
  const { remove, confirmation } = useRemoveNode(node, onClose)
  return (
    <DetailPane label={texts.nodeLabel(node.name)}>
      <PaneHead
        what={texts.theNode}
        onClose={onClose}
        menu={
          may && (
            <MoreMenu label={texts.moreActions} isVertical>
              <Menu.Item leftSection={<IconPencil size={14} />} onClick={() => setEditing(true)}>
                {texts.edit}
              </Menu.Item>
              <Menu.Item
                leftSection={<IconTrash size={14} />}
                color="red"
                disabled={node.kind === 'local'}
                onClick={remove}
                title={node.kind === 'local' ? texts.cannotRemoveLocalNode : undefined}
              >
                {texts.removeNode}
              </Menu.Item>
            </MoreMenu>
          )
        }
      >
        <NodeHealthDot node={node} />
        <strong className="ellipsis">{node.name}</strong>
        <span className={isTroubled(node) ? 'tone-bad' : 'dim'}>{nodeWord(node)}</span>
      </PaneHead>
      {node.problem !== null && (
        <div className={`${classes.problem} notice-bad`} role="alert">
          <p>{node.problem}</p>
          {may && node.health === 'unauthorized' && !editing && (
            <Button onClick={() => setEditing(true)}>{texts.changePassword}</Button>
          )}
          {isUnreachable(node.health) && node.runs.some(({ jobId }) => jobId !== null) && (
            <RunElsewhereButton nodeId={node.id} nodeName={node.name} />
          )}
        </div>
      )}
      {node.health === 'up' && node.stuckSinceMs !== null && (
        <div className={`${classes.problem} notice-bad`} role="alert">
          <p>{texts.stuckHint(<RelativeTime atMs={node.stuckSinceMs} />)}</p>
        </div>
      )}
      {node.sourceId !== null && <WhyVanished node={node} />}
      <ModeButtons node={node} />
      {editing ? (
        <NodeForm node={node} onDone={() => setEditing(false)} />
      ) : (
        <Facts node={node} onEdit={() => setEditing(true)} />
      )}
      {node.kind === 'local' && node.runs.length > 0 ? <LocalRuns runs={node.runs} /> : <Runs node={node} />}
      {node.kind === 'local' && <Environments openLog={openLog} onLog={onLog} />}
      <Projects node={node} />
      {confirmation}
    </DetailPane>
  )
}

const MODES: Record<NodeMode, { act: string; text: string }> = {
  active: { act: texts.activate, text: texts.activeHint },
  cordoned: { act: texts.cordon, text: texts.cordonHint },
  draining: { act: texts.drain, text: texts.drainHint }
}

function ModeButtons({ node }: { node: Node }) {
  const { query } = useApi()
  const { mutate, isPending, variables } = useMutation(
    query.nodes.setMode.mutationOptions({ onError: (error) => notifyError(texts.couldNotChange(node.name), error) })
  )
  const { may } = useMay('nodes.operate', node)
  const others = (['active', 'draining', 'cordoned'] as const).filter((mode) => mode !== node.mode)
  return (
    <Group gap={8}>
      {may &&
        others.map((mode) => (
          <Button
            key={mode}
            loading={isPending && variables?.mode === mode}
            variant={mode === 'active' ? 'filled' : 'default'}
            title={MODES[mode].text}
            onClick={() => mutate({ id: node.id, mode })}
          >
            {MODES[mode].act}
          </Button>
        ))}
      <TellMe of={{ nodeId: node.id }} variant="subtle" color="gray" />
      {node.mode !== 'active' && <span className="dim">{MODES[node.mode].text}</span>}
    </Group>
  )
}

const SLOTS_SOURCE = { set: texts.slotsSetByYou, default: texts.slotsDefault, learned: texts.slotsLearned }
const TUNNEL_WORDS = { connecting: texts.tunnelConnecting, up: texts.tunnelUp, down: texts.tunnelDown }
const CLOCK_OFFSET_MIN_MS = 2_000

/** A response without news causes no change event, so this polls a healthy node while its detail pane is open. */
function useLatestAnswer(node: Node): Pick<Node, 'lastSeenAtMs' | 'latencyMs'> {
  const { query } = useApi()
  const isAsked = node.kind !== 'local' && node.health === 'up'
  const { data } = useQuery(
    query.nodes.get.queryOptions({ input: { id: node.id }, enabled: isAsked, staleTime: 0, refetchInterval: 2_000 })
  )
  return isAsked && (data?.lastSeenAtMs ?? 0) > (node.lastSeenAtMs ?? 0) ? (data ?? node) : node
}

function ClusterFacts({ node }: { node: Node }) {
  const { kubernetes, hasPassword, hasClientCertificate } = node
  const projects = Object.keys(kubernetes?.projects ?? {}).length
  return (
    <>
      <FieldRow label={texts.clusterNamespace}>
        <span className="mono">{clusterOf(node.url)}</span>
      </FieldRow>
      <FieldRow label={texts.authentication}>
        {kubernetes?.tokenFile != null
          ? texts.tokenFrom(kubernetes.tokenFile)
          : hasPassword
            ? texts.hasToken
            : hasClientCertificate
              ? texts.hasClientCertificate
              : texts.none}
      </FieldRow>
      <FieldRow label={texts.image}>
        {kubernetes?.pod.image === undefined ? (
          <span className="dim">{texts.none}</span>
        ) : (
          <span className="mono">{kubernetes.pod.image}</span>
        )}
        {projects > 0 && <span className="dim"> · {texts.projectsWithOwnSettings(projects)}</span>}
      </FieldRow>
      <FieldRow label={texts.eggs}>
        {kubernetes?.engineUrl == null ? (
          <span className="dim">{texts.inTheImages}</span>
        ) : (
          texts.eggsFetchedFrom(<span className="mono">{kubernetes.engineUrl}</span>)
        )}
      </FieldRow>
    </>
  )
}

function Tunnel({ node, tunnel }: { node: Node; tunnel: NonNullable<Node['tunnel']> }) {
  const { host, state, sinceMs, problem, retryAtMs } = tunnel
  const isShownAbove = problem !== null && node.problem?.includes(problem) === true
  return (
    <FieldRow label={texts.sshTunnel}>
      <span className={state === 'up' ? undefined : problem === null ? 'tone-wait' : 'tone-bad'}>
        {TUNNEL_WORDS[state]}
      </span>
      <span className="dim">
        {' · '}
        <span className="mono">{host}</span> · {texts.forTime(<RelativeTime atMs={sinceMs} />)}
        {retryAtMs !== null && ` · ${texts.reconnects}`}
      </span>
      {problem !== null && !isShownAbove && (
        <div className="dim">{problem.charAt(0).toUpperCase() + problem.slice(1)}</div>
      )}
    </FieldRow>
  )
}

function Facts({ node, onEdit }: { node: Node; onEdit: () => void }) {
  const { may } = useMay('nodes.change', node)
  const { lastSeenAtMs, latencyMs } = useLatestAnswer(node)
  const scrapyd = (
    <FieldRow label={texts.scrapyd}>
      {node.scrapydVersion ?? <span className="dim">{texts.unknown}</span>}
      {node.nodeName !== null && node.nodeName !== node.name && (
        <span className="dim"> · {texts.hostnameFact(node.nodeName)}</span>
      )}
    </FieldRow>
  )
  const lastSeen = (
    <FieldRow label={texts.lastSeen}>
      <RelativeTime atMs={lastSeenAtMs} ago />
      {node.kind === 'scrapyd' && !isStale(node) && latencyMs !== null && (
        <span className="dim"> · {texts.latencyFact(Math.round(latencyMs))}</span>
      )}
    </FieldRow>
  )
  return (
    <div>
      <FieldRow label={texts.slots}>
        <span className={classes.slots}>
          <SlotsBar node={node} />
        </span>
        <span className="faint">
          {node.slotsText || SLOTS_SOURCE[node.slotsSource]}
          {may && (
            <>
              {' · '}
              <button type="button" className="accent" onClick={onEdit}>
                {texts.change}
              </button>
            </>
          )}
        </span>
      </FieldRow>
      {node.kind === 'kubernetes' && <ClusterFacts node={node} />}
      {node.kind === 'scrapyd' ? (
        <>
          <FieldRow label={texts.address}>
            <Flex component="span" align="flex-start" gap={2} className={`${classes.address} break`}>
              <CopyText value={node.url} what={texts.theAddress} />
            </Flex>
          </FieldRow>
          {node.tunnel !== null && <Tunnel node={node} tunnel={node.tunnel} />}
          <FieldRow label={texts.authentication}>
            {node.username === null ? (
              <span className="dim">{texts.none}</span>
            ) : node.hasPassword ? (
              node.username
            ) : (
              texts.userWithoutPassword(node.username)
            )}
            {node.hasCaCertificate && <span className="dim"> · {texts.hasCaCertificate}</span>}
            {node.hasClientCertificate && <span className="dim"> · {texts.hasClientCertificate}</span>}
          </FieldRow>
          {scrapyd}
          {lastSeen}
        </>
      ) : node.kind === 'engine' ? (
        <>
          <FieldRow label={texts.engine}>
            {engineOfAddress(node.url)}
            {node.nodeName !== null && <span className="dim"> · {texts.hostnameFact(node.nodeName)}</span>}
          </FieldRow>
          {lastSeen}
        </>
      ) : node.kind === 'pulling' ? (
        <>
          <FieldRow label={texts.connection}>
            <span className="dim">{texts.pullsJobs}</span>
          </FieldRow>
          <FieldRow label={texts.token}>
            <NodeToken node={node} />
          </FieldRow>
          {scrapyd}
          {lastSeen}
        </>
      ) : (
        node.kind === 'local' && <LocalPython python={node.python} />
      )}
      {node.unreachableSinceMs !== null && (
        <FieldRow label={texts.unreachable}>
          <span className="tone-bad">{texts.forTime(<RelativeTime atMs={node.unreachableSinceMs} />)}</span>
          {node.giveUpAfterSeconds !== null && (
            <span className="dim"> · {texts.givenUpAfter(formatDuration(node.giveUpAfterSeconds))}</span>
          )}
        </FieldRow>
      )}
      {node.clockOffsetMs !== null && (
        <FieldRow label={texts.clockOffset}>
          {Math.abs(node.clockOffsetMs) >= CLOCK_OFFSET_MIN_MS ? (
            <>
              <span className="tone-wait">{clockWords(node.clockOffsetMs)}</span>
              <span className="dim"> · {texts.clockCorrected}</span>
            </>
          ) : (
            <span className="dim">{texts.none}</span>
          )}
        </FieldRow>
      )}
      {node.group !== null && <FieldRow label={texts.group}>{node.group}</FieldRow>}
      {node.tags.length > 0 && (
        <FieldRow label={texts.tags}>
          <Group gap={4}>
            {node.tags.map((tag) => (
              <Badge key={tag} variant="default" size="sm" tt="none" fw={500}>
                {tag}
              </Badge>
            ))}
          </Group>
        </FieldRow>
      )}
      {node.kind !== 'local' && (
        <>
          <FieldRow label={texts.queuedOnNode}>
            {node.pending ?? <span className="faint">–</span>}
            <span className="dim">
              {' '}
              · {node.queueAhead === 0 ? texts.queueAheadNone : texts.queueAheadUpTo(node.queueAhead)}
            </span>
          </FieldRow>
          <FieldRow label={texts.giveUpAfter}>
            {node.giveUpAfterSeconds === null ? (
              <span className="dim">{texts.giveUpNever}</span>
            ) : (
              texts.giveUpAfterValue(formatDuration(node.giveUpAfterSeconds))
            )}
          </FieldRow>
          {node.proxyUrl !== null && (
            <FieldRow label={texts.proxy}>
              {node.proxyUrl === 'direct' ? texts.proxyDirect : <span className="mono">{node.proxyUrl}</span>}
            </FieldRow>
          )}
          {node.sourceId !== null && <FieldRow label={texts.discoverySource}>{node.sourceId}</FieldRow>}
        </>
      )}
      <FieldRow label={texts.added}>
        <RelativeTime atMs={node.addedAtMs} ago />
      </FieldRow>
    </div>
  )
}

/** `3 h 2 min ahead`. */
function clockWords(offsetMs: number): string {
  const duration = formatDuration(Math.round(Math.abs(offsetMs) / 1000))
  return offsetMs > 0 ? texts.clockAhead(duration) : texts.clockBehind(duration)
}

function LocalPython({ python }: Pick<Node, 'python'>) {
  if (python === null)
    return (
      <FieldRow label={texts.python}>
        <Flex component="span" direction="column" align="flex-start" gap={8}>
          <span className="tone-wait">{texts.noPython}</span>
          <CreateEnvironment />
        </Flex>
      </FieldRow>
    )
  return (
    <>
      <FieldRow label={texts.python}>{pythonWords(python)}</FieldRow>
      <FieldRow label={texts.path}>
        <Flex component="span" align="flex-start" gap={2} className={`${classes.address} break`}>
          <CopyText value={python.path} what={texts.thePath} />
        </Flex>
      </FieldRow>
      <FieldRow label={texts.startMode}>
        <StartModeText start={python.start} />
      </FieldRow>
    </>
  )
}

function LocalRuns({ runs }: Pick<Node, 'runs'>) {
  return (
    <section className={`${classes.runs} quiet-links`}>
      <table aria-label={texts.runs}>
        <thead>
          <tr>
            <th scope="col">{texts.runCount(runs.length)}</th>
            <th scope="col">{texts.runtime}</th>
            <th scope="col">{texts.memory}</th>
            <th scope="col">{texts.cpu}</th>
          </tr>
        </thead>
        <tbody>
          {runs.map(({ jobId, jobid, project, spider, state, sinceMs, usage }) => (
            <tr key={jobid}>
              <td className="ellipsis" title={`${project}/${spider}`}>
                {jobId === null ? (
                  `${project}/${spider}`
                ) : (
                  <Link to="/jobs" search={{ job: jobId, tab: 'stats' }}>
                    {project}/{spider}
                  </Link>
                )}
              </td>
              <td className="dim">
                {state === 'starting' ? texts.starting : <Runtime startedAtMs={sinceMs} endedAtMs={null} />}
              </td>
              <td>{usage === null ? <span className="faint">–</span> : formatMemory(usage.memoryBytes)}</td>
              <td title={usage === null ? undefined : texts.cpuHint(usage.processes)}>
                {usage === null ? <span className="faint">–</span> : formatCpuShare(usage.cpuShare)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Runs({ node }: { node: Node }) {
  return (
    <section data-stale={isStale(node) || undefined} className={`${classes.runs} quiet-links`}>
      <h2>{node.runs.length === 0 ? texts.noRunningJobs : texts.runCount(node.runs.length)}</h2>
      <ul>
        {node.runs.map((run) => (
          <li key={`${run.jobId} ${run.jobid}`}>
            {run.jobId === null ? (
              <ExternalRun node={node} run={run} />
            ) : (
              <Link to="/jobs" search={{ job: run.jobId }} className="ellipsis">
                {run.project}/{run.spider}
              </Link>
            )}
            <span className="dim" title={run.isHeldOpen ? texts.heldOpenHint : undefined}>
              {run.isHeldOpen ? (
                texts.heldOpen
              ) : run.state === 'starting' ? (
                texts.starting
              ) : (
                // If the node is unreachable, the clock stops at its last response.
                <Runtime startedAtMs={run.sinceMs} endedAtMs={isStale(node) ? node.lastSeenAtMs : null} />
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Projects({ node }: { node: Node }) {
  const { query } = useApi()
  const { data } = useQuery(query.projects.list.queryOptions())
  const isHere = ({ deployments }: Version) =>
    deployments.some(({ nodeId, state }) => nodeId === node.id && state === 'present')
  const there = (data?.projects ?? [])
    .map(({ name, latestVersion, versions }) => {
      const present = versions.filter(isHere).map(({ version }) => version)
      return { name, versions: present, isLatest: present.some((version) => version === latestVersion) }
    })
    .filter(({ versions }) => versions.length > 0)
  if (there.length === 0) return null
  return (
    <section className={`${classes.runs} quiet-links`}>
      <h2>{texts.projectCount(there.length)}</h2>
      <ul>
        {there.map(({ name, versions, isLatest }) => (
          <li key={name}>
            <Link to="/projects" search={{ project: name }} className="ellipsis">
              {name}
            </Link>
            <span className={isLatest ? 'dim' : 'tone-wait'} title={versions.join('\n')}>
              {isLatest ? texts.versionCount(versions.length) : texts.notTheLatest}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

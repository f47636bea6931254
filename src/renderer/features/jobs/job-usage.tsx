import { Flex } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Attempt, Job, JobDetail, RunLimits, UsageSample } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { effectiveRunLimits } from '../../../shared/run-limits.ts'
import { useApi } from '../../api/api.tsx'
import { runLimitsInForce } from '../../ui/fields/run-limits.ts'
import { formatCpuShare, formatMemory, formatSeconds } from '../../ui/numbers.ts'
import { ErrorState } from '../../ui/states.tsx'
import { LineChart } from '../../ui/charts/line-chart.tsx'
import classes from './job-detail-pane.module.css'
import { texts } from '../../../shared/texts/ui/jobs.ts'

const POLL_MS = 2000
const MEGABYTE = 1_048_576

export function JobUsage({ detail: { job, attempts } }: { detail: JobDetail }) {
  const api = useApi()
  const isLive = job.state === 'running' || job.state === 'starting'
  const usage = useQuery({
    ...api.query.jobs.usage.queryOptions({ input: { id: job.id } }),
    // Samples are not stored and have no change event.
    refetchInterval: isLive ? POLL_MS : false
  })
  const [lookAtMs, setLookAtMs] = useState<number | null>(null)
  const ofProject = useProjectLimits(job)
  const attempt = attempts.at(-1)
  if (attempt === undefined || attempt.nodeId !== LOCAL_NODE_ID) return null
  const samples = usage.data?.samples ?? []
  const startedAtMs = attempt.startedAtMs ?? samples[0]?.atMs ?? 0
  const memoryMegabytes = effectiveRunLimits(ofProject ?? null, job.limits)?.memoryMegabytes
  const shared = { startedAtMs, tone: isLive ? 'run' : 'off', lookAtMs, onLook: setLookAtMs } as const
  return (
    <Flex aria-label={texts.memoryAndCpu} component="section" direction="column" gap={12} className={classes.usage}>
      {usage.isError && (
        <ErrorState what={texts.theMemoryAndCpu} error={usage.error} onRetry={() => void usage.refetch()} />
      )}
      {samples.length > 1 ? (
        <>
          <LineChart
            title={texts.memory}
            points={samples.map(({ atMs, memoryBytes }) => ({ atMs, value: memoryBytes }))}
            format={formatMemory}
            isBinary
            limit={memoryMegabytes == null ? null : memoryMegabytes * MEGABYTE}
            {...shared}
          />
          <LineChart
            title={texts.cpu}
            points={samples.map(({ atMs, cpuShare }) => ({ atMs, value: cpuShare * 100 }))}
            {...shared}
            format={(percent) => `${Math.round(percent)} %`}
          />
        </>
      ) : (
        usage.isSuccess && <p className="dim">{isLive ? texts.samplesSoon : texts.samplesExpired}</p>
      )}
      <Figures attempt={attempt} samples={samples} isLive={isLive} />
      {ofProject !== undefined && <Limits job={job} ofProject={ofProject} />}
    </Flex>
  )
}

function Figures({ attempt, samples, isLive }: { attempt: Attempt; samples: UsageSample[]; isLive: boolean }) {
  const now = isLive ? samples.at(-1) : undefined
  const peakBytes = Math.max(attempt.peakMemoryBytes ?? 0, ...samples.map(({ memoryBytes }) => memoryBytes))
  const peakShare = Math.max(0, ...samples.map(({ cpuShare }) => cpuShare))
  const cpuSeconds = attempt.cpuSeconds ?? cpuSecondsOf(samples)
  if (peakBytes === 0 && cpuSeconds === null) return null
  return (
    <table className={classes.usageTable} aria-label={texts.usage}>
      <thead>
        <tr>
          <td />
          {isLive && <th scope="col">{texts.now}</th>}
          <th scope="col">{texts.peak}</th>
          <th scope="col">{texts.total}</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">{texts.memory}</th>
          {isLive && <td>{now === undefined ? '–' : formatMemory(now.memoryBytes)}</td>}
          <td>{peakBytes === 0 ? '–' : formatMemory(peakBytes)}</td>
          <td />
        </tr>
        <tr>
          <th scope="row">{texts.cpu}</th>
          {isLive && <td>{now === undefined ? '–' : formatCpuShare(now.cpuShare)}</td>}
          <td>{peakShare === 0 ? '–' : formatCpuShare(peakShare)}</td>
          <td>{cpuSeconds === null ? '–' : formatSeconds(cpuSeconds)}</td>
        </tr>
        {now !== undefined && now.processes > 1 && (
          <tr>
            <th scope="row">{texts.processes}</th>
            <td>{now.processes}</td>
            <td>{Math.max(...samples.map(({ processes }) => processes))}</td>
            <td />
          </tr>
        )}
      </tbody>
    </table>
  )
}

/** An estimate until the runner reports the total: the shares multiplied by the time between samples. */
function cpuSecondsOf(samples: readonly UsageSample[]): number | null {
  if (samples.length < 2) return null
  return samples.reduce((sum, { atMs, cpuShare }, index) => {
    const before = samples[index - 1]
    return before === undefined ? sum : sum + (cpuShare * (atMs - before.atMs)) / 1000
  }, 0)
}

function Limits({ job, ofProject }: { job: Job; ofProject: RunLimits | null }) {
  const limits = runLimitsInForce(effectiveRunLimits(ofProject, job.limits))
  return (
    <div>
      <h3>{texts.limits}</h3>
      {limits.length === 0 ? (
        <p className="dim">{texts.noLimits}</p>
      ) : (
        <table className={classes.table}>
          <tbody>
            {limits.map(({ name, label, value }) => (
              <tr key={name}>
                <th scope="row">{label}</th>
                <td>
                  {value}{' '}
                  <span className="faint">
                    · {job.limits?.[name] == null ? texts.limitOfProject : texts.limitOfJob}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}

function useProjectLimits({ project }: Job): RunLimits | null | undefined {
  const api = useApi()
  const { data } = useQuery(api.query.projects.list.queryOptions())
  return data && (data.projects.find(({ name }) => name === project)?.settings.limits ?? null)
}

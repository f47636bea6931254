import type { Readable } from 'node:stream'
import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import type { NodeSignal } from '../nodes/node-client.ts'

export type ScrapydSignal = { send: NodeSignal } | { refuse: string }

export type ScrapydState = 'pending' | 'running'

export interface ScrapydScheduleRequest {
  project: ProjectName
  spider: string
  /** null: latest at start. */
  version: VersionName | null
  jobid: string | null
  priority: number
  settings: Record<string, string>
  args: Record<string, string>
}

/** The same object, or the same arrays, as long as nothing has changed: callers can cache by identity. */
export interface ScrapydJobs {
  pending: {
    jobid: string
    project: ProjectName
    spider: string
    version: VersionName | null
    settings: Record<string, string>
    args: Record<string, string>
  }[]
  running: (ScrapydRun & { pid: number | null; startedAtMs: number | null })[]
  finished: (ScrapydRun & { startedAtMs: number | null; endedAtMs: number })[]
}

export interface ScrapydRun {
  jobid: string
  project: ProjectName
  spider: string
  /** Names in the run's directory of logs and of items; null where there is no file now. */
  logFile: string | null
  itemsFile: string | null
}

export type FileTree = 'logs' | 'items'

export interface ScrapydFile {
  kind: 'file'
  sizeBytes: number
  /** null: not known. */
  modifiedAtMs: number | null
  /** The bytes from `start` up to, not including, `stop`; fails where the file has become shorter. */
  read(start: number, stop: number): Readable
}

export interface ScrapydDirectory {
  kind: 'directory'
  /** In the order of their names. */
  entries: { name: string; isDirectory: boolean; sizeBytes: number | null; modifiedAtMs: number | null }[]
}

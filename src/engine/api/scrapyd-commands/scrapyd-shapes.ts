import type { Readable } from 'node:stream'
import type { ProjectName, VersionName } from '../../../shared/contract/index.ts'
import type { NodeSignal } from '../../nodes/node-client.ts'

export type ScrapydSignal = { send: NodeSignal } | { refuse: string }

export type ScrapydState = 'pending' | 'running'

export interface ScrapydSpider {
  project: ProjectName
  spider: string
  /** null: the latest version when the job starts. */
  version: VersionName | null
}

export interface ScrapydOrder {
  jobid: string | null
  priority: number | null
  settings: Record<string, string>
  args: Record<string, string>
}

/** Callers get the same object and arrays until something changes, so they can cache by identity. */
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
  /** Whether the result depends on the store alone, not on files of this machine. */
  isOfStore: boolean
}

export interface ScrapydRun {
  jobid: string
  project: ProjectName
  spider: string
  /** null if there is no file now. */
  logFile: string | null
  itemsFile: string | null
}

export type FileTree = 'logs' | 'items'

export interface ScrapydFile {
  kind: 'file'
  sizeBytes: number
  modifiedAtMs: number | null
  /** Fails if the file has shrunk. */
  read(start: number, stop: number): Readable
}

export interface ScrapydDirectory {
  kind: 'directory'
  entries: { name: string; isDirectory: boolean; sizeBytes: number | null; modifiedAtMs: number | null }[]
}

import type { z } from 'zod'
import type {
  AttemptNumber,
  ChainId,
  JobId,
  NodeId,
  ProjectName,
  ScheduleId,
  SourceId,
  VersionName,
  WebhookId
} from '../contract/index.ts'

type Brand = Record<typeof z.core.$brand, unknown>

/** Replaces branded types with plain strings and numbers. */
export type Plain<T> = T extends string
  ? T extends Brand
    ? string
    : T
  : T extends number
    ? T extends Brand
      ? number
      : T
    : T extends (...parameters: never[]) => unknown
      ? T
      : T extends object
        ? { [Key in keyof T]: Plain<T[Key]> }
        : T

export const branded = <T, P extends Plain<T> = Plain<T>>(value: P): T => value as unknown as T

export const aJobId = (text: string): JobId => text as JobId
export const aNodeId = (text: string): NodeId => text as NodeId
export const aProjectName = (text: string): ProjectName => text as ProjectName
export const aVersionName = (text: string): VersionName => text as VersionName
export const anAttemptNumber = (number: number): AttemptNumber => number as AttemptNumber
export const aScheduleId = (text: string): ScheduleId => text as ScheduleId
export const aChainId = (text: string): ChainId => text as ChainId
export const aWebhookId = (text: string): WebhookId => text as WebhookId
export const aSourceId = (text: string): SourceId => text as SourceId

import { z } from 'zod'
import { JOB_ID_PATTERN, NODE_ID_PATTERN, RANDOM_ID_PATTERN } from '../id-patterns.ts'

/**
 * Ids and names, each a type of its own: neither another id nor plain text can stand for one. They are made where data
 * enters: these schemas parse it, the store declares its rows, and one place makes the new ids of each kind.
 */
export const JobId = z.string().regex(JOB_ID_PATTERN, 'A job id has 32 hexadecimal digits').brand<'JobId'>()
export type JobId = z.infer<typeof JobId>

export const NodeId = z.string().regex(NODE_ID_PATTERN).brand<'NodeId'>()
export type NodeId = z.infer<typeof NodeId>

export const ProjectName = z.string().min(1).max(200).brand<'ProjectName'>()
export type ProjectName = z.infer<typeof ProjectName>

export const VersionName = z.string().min(1).max(200).brand<'VersionName'>()
export type VersionName = z.infer<typeof VersionName>

/** As answers tell them: nodes have projects and versions that no operation of ours would take. */
export const ToldProject = z.string().brand<'ProjectName'>()
export const ToldVersion = z.string().brand<'VersionName'>()

/** Counts the attempts of one job from 1; with the job's id it names an attempt. */
export const AttemptNumber = z.number().int().positive().brand<'AttemptNumber'>()
export type AttemptNumber = z.infer<typeof AttemptNumber>

export const ScheduleId = z
  .string()
  .regex(RANDOM_ID_PATTERN, 'A schedule id has 32 hexadecimal digits')
  .brand<'ScheduleId'>()
export type ScheduleId = z.infer<typeof ScheduleId>

export const ChainId = z.string().regex(RANDOM_ID_PATTERN, 'A chain id has 32 hexadecimal digits').brand<'ChainId'>()
export type ChainId = z.infer<typeof ChainId>

export const WebhookId = z
  .string()
  .regex(RANDOM_ID_PATTERN, 'A webhook id has 32 hexadecimal digits')
  .brand<'WebhookId'>()
export type WebhookId = z.infer<typeof WebhookId>

/** Of a discovery source; an operator chooses it. */
export const SourceId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/)
  .brand<'SourceId'>()
export type SourceId = z.infer<typeof SourceId>

/** What the SecretBox makes of a secret: the only form in which the store may hold one. */
export type SealedText = string & z.core.$brand<'SealedText'>

import { z } from 'zod'
import { JOB_ID_PATTERN, NODE_ID_PATTERN } from '../ids.ts'

/**
 * Ids and names of things. The types are branded, so that one cannot stand where another is meant; the schemas beside
 * them still infer plain strings: `.brand<'…'>()` on a schema is what asks for its brand everywhere.
 */
type Branded<Base, Name extends string> = Base & z.core.$brand<Name>

export const JobId = z.string().regex(JOB_ID_PATTERN, 'A job id has 32 hexadecimal digits')
export type JobId = Branded<string, 'JobId'>

export const NodeId = z.string().regex(NODE_ID_PATTERN)
export type NodeId = Branded<string, 'NodeId'>

export const ProjectName = z.string().min(1).max(200)
export type ProjectName = Branded<string, 'ProjectName'>

export const VersionName = z.string().min(1).max(200)
export type VersionName = Branded<string, 'VersionName'>

/** Counts the attempts of one job from 1; with the job's id it names an attempt. */
export const AttemptNumber = z.number().int().positive()
export type AttemptNumber = Branded<number, 'AttemptNumber'>

export const ScheduleId = z.string().regex(/^[0-9a-f]{32}$/, 'A schedule id has 32 hexadecimal digits')
export type ScheduleId = Branded<string, 'ScheduleId'>

export const WebhookId = z.string().regex(/^[0-9a-f]{32}$/, 'A webhook id has 32 hexadecimal digits')
export type WebhookId = Branded<string, 'WebhookId'>

/** Of a discovery source; an operator chooses it. */
export const SourceId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/)
export type SourceId = Branded<string, 'SourceId'>

/** What the SecretBox makes of a secret: the only form in which the store may hold one. */
export type SealedText = Branded<string, 'SealedText'>

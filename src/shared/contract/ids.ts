import { z } from 'zod'
import { JOB_ID_PATTERN, NODE_ID_PATTERN } from '../ids.ts'

/**
 * Ids and names of things, each a type of its own: none can stand where another is meant. A plain text may stand for any of them, as
 * a form or a command line gives it; what must not be (a secret that is not sealed) has the stricter `z.core.$brand`.
 */
type Branded<Base, Name extends string> = Base & { readonly __brand?: Name }
/** What the schema infers; at run time, and in the JSON schema, it is the schema that it was. */
type SchemaOf<Schema extends z.ZodType, Id> = Schema & Record<'_zod', Record<'output', Id>>

export type JobId = Branded<string, 'JobId'>
export const JobId = z.string().regex(JOB_ID_PATTERN, 'A job id has 32 hexadecimal digits') as SchemaOf<
  z.ZodString,
  JobId
>

export type NodeId = Branded<string, 'NodeId'>
export const NodeId = z.string().regex(NODE_ID_PATTERN) as SchemaOf<z.ZodString, NodeId>

export type ProjectName = Branded<string, 'ProjectName'>
export const ProjectName = z.string().min(1).max(200) as SchemaOf<z.ZodString, ProjectName>

export type VersionName = Branded<string, 'VersionName'>
export const VersionName = z.string().min(1).max(200) as SchemaOf<z.ZodString, VersionName>

/** As answers tell them: nodes have projects and versions that no operation of ours would take. */
export const ToldProject = z.string() as SchemaOf<z.ZodString, ProjectName>
export const ToldVersion = z.string() as SchemaOf<z.ZodString, VersionName>

/** Counts the attempts of one job from 1; with the job's id it names an attempt. */
export type AttemptNumber = Branded<number, 'AttemptNumber'>
export const AttemptNumber = z.number().int().positive() as SchemaOf<z.ZodNumber, AttemptNumber>

export type ScheduleId = Branded<string, 'ScheduleId'>
export const ScheduleId = z.string().regex(/^[0-9a-f]{32}$/, 'A schedule id has 32 hexadecimal digits') as SchemaOf<
  z.ZodString,
  ScheduleId
>

export type WebhookId = Branded<string, 'WebhookId'>
export const WebhookId = z.string().regex(/^[0-9a-f]{32}$/, 'A webhook id has 32 hexadecimal digits') as SchemaOf<
  z.ZodString,
  WebhookId
>

/** Of a discovery source; an operator chooses it. */
export type SourceId = Branded<string, 'SourceId'>
export const SourceId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/) as SchemaOf<z.ZodString, SourceId>

/** What the SecretBox makes of a secret: the only form in which the store may hold one. */
export type SealedText = string & z.core.$brand<'SealedText'>

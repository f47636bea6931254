import { z } from 'zod'
import { wordsOfIssue } from '../issue-words.ts'
import { problemOfShownName } from '../unseen.ts'
import { JOB_ID_PATTERN, NODE_ID_PATTERN, RANDOM_ID_PATTERN } from '../id-patterns.ts'

// zod is configured here, because every schema of the contract imports this file.
z.config({ localeError: wordsOfIssue })

/**
 * A name for display. It must not contain invisible characters, which could make it look like another name
 * (unseen.ts).
 */
export const ShownName = z
  .string()
  .min(1)
  .refine((text) => problemOfShownName(text) === null, {
    error: ({ input }) => `The name ${problemOfShownName(String(input))}`
  })

/**
 * Ids and names have their own types, so that they cannot be confused. Only three places create values of these types:
 * these schemas, the declared rows of the store, and the module that generates new ids.
 */
export const JobId = z.string().regex(JOB_ID_PATTERN, 'A job id has 32 hexadecimal digits').brand<'JobId'>()
export type JobId = z.infer<typeof JobId>

export const NodeId = z.string().regex(NODE_ID_PATTERN).brand<'NodeId'>()
export type NodeId = z.infer<typeof NodeId>

export const ProjectName = z.string().min(1).max(200).brand<'ProjectName'>()
export type ProjectName = z.infer<typeof ProjectName>

export const VersionName = z.string().min(1).max(200).brand<'VersionName'>()
export type VersionName = z.infer<typeof VersionName>

/** For responses: nodes can have projects and versions with names that our operations refuse. */
export const AnyProjectName = z.string().brand<'ProjectName'>()
export const AnyVersionName = z.string().brand<'VersionName'>()

/** The number of an attempt of a job, from 1. */
export const AttemptNumber = z.number().int().positive().brand<'AttemptNumber'>()
export type AttemptNumber = z.infer<typeof AttemptNumber>

const randomId = (what: string) => z.string().regex(RANDOM_ID_PATTERN, `${what} has 32 hexadecimal digits`)

export const ScheduleId = randomId('A schedule id').brand<'ScheduleId'>()
export type ScheduleId = z.infer<typeof ScheduleId>

export const ChainId = randomId('A chain id').brand<'ChainId'>()
export type ChainId = z.infer<typeof ChainId>

export const WebhookId = randomId('A webhook id').brand<'WebhookId'>()
export type WebhookId = z.infer<typeof WebhookId>

export const AlertRuleId = randomId('The id of an alert rule').brand<'AlertRuleId'>()
export type AlertRuleId = z.infer<typeof AlertRuleId>

/** An alert channel is stored like a webhook, and its messages are delivered from the outbox. */
export type AlertChannelId = WebhookId

export const AlertId = randomId('The id of an alert').brand<'AlertId'>()
export type AlertId = z.infer<typeof AlertId>

export const AlertSilenceId = randomId('The id of a silence').brand<'AlertSilenceId'>()
export type AlertSilenceId = z.infer<typeof AlertSilenceId>

export const UserId = randomId('A user id').brand<'UserId'>()
export type UserId = z.infer<typeof UserId>

export const GroupId = randomId('A group id').brand<'GroupId'>()
export type GroupId = z.infer<typeof GroupId>

export const AccessTokenId = randomId('The id of a token').brand<'AccessTokenId'>()
export type AccessTokenId = z.infer<typeof AccessTokenId>

export const PasskeyId = randomId('The id of a passkey').brand<'PasskeyId'>()
export type PasskeyId = z.infer<typeof PasskeyId>

export const ErrorGroupId = z.number().int().positive().brand<'ErrorGroupId'>()
export type ErrorGroupId = z.infer<typeof ErrorGroupId>

export const SourceId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/)
  .brand<'SourceId'>()
export type SourceId = z.infer<typeof SourceId>

/** A secret encrypted by SecretBox. The store cannot hold secrets in any other form. */
export type SealedText = string & z.core.$brand<'SealedText'>

import type { ReactNode } from 'react'
import { plural } from '../../numbers.ts'
import { area } from './area.ts'
import { rich } from './rich.ts'

const handOverEffect =
  'For a second or two, requests may fail, live views reconnect, and browsers may have to log in again. Running spiders continue, and no job is lost.'

export const texts = area('engines', {
  leader: 'Leader',
  follower: 'Follower',
  silent: 'Silent',
  engineLabel: (name: string) => `Engine ${name}`,
  drained: 'drained',
  drainedHint: 'It serves requests, but does not lead until you undrain it or it restarts',
  thisPage: 'this page',
  thisPageHint: 'This page talks to this engine',
  takingOver: 'taking over…',
  startedAgo: (age: ReactNode) => rich`started ${age} ago`,
  lastSeenAgo: (age: ReactNode) => rich`last seen ${age} ago`,
  localNode: 'local node',
  localNodeHint: 'It also runs spiders, as a node with its name',
  handOverMenu: 'Hand over…',
  handOverLabel: (name: string) => `Hand over to ${name}`,
  undrain: 'Undrain',
  undrainLabel: (name: string) => `Undrain ${name}`,
  drainMenu: 'Drain…',
  drainLabel: (name: string) => `Drain ${name}`,
  drainLeaderHint: `It leads now, so it hands over to another engine first. ${handOverEffect} It keeps serving requests, but does not lead again until you undrain it or it restarts.`,
  drainTitle: (name: string) => `Drain ${name}?`,
  isDrained: (name: string) => `${name} is drained.`,
  canLeadAgain: (name: string) => `${name} can lead again.`,
  couldNotDrain: (name: string) => `Could not drain ${name}`,
  couldNotUndrain: (name: string) => `Could not undrain ${name}`,
  alreadyLeads: 'It is already the leader',
  drainedCannotLead: 'It is drained: undrain it first',
  noOtherLeader: 'No other engine could lead: start or undrain one first',
  theEngines: 'the engines',
  engineCount: (count: number) => plural(count, 'engine'),
  outdatedList: (age: ReactNode, problem: string) => rich`This list is ${age} old. ${problem}`,
  oneEngine: 'One engine',
  oneEngineHint: (scalingPage: ReactNode) =>
    rich`This Scrapdeck keeps its data in SQLite, so no other engine can share it. To run several engines that take over from each other, move to PostgreSQL: ${scalingPage}.`,
  noStandbyHint: (scalingPage: ReactNode) =>
    rich`If this engine fails, nothing is dispatched until it is back. Start a second one on the same database to have it take over: ${scalingPage}.`,
  onThisDatabase: 'On this database',
  mixedVersions: (versions: string) =>
    `The engines run different versions (${versions}). Finish the update: the followers first, then hand over.`,
  leaders: 'Leaders',
  newestFirst: 'newest first',
  now: 'now',
  scalingDoc: 'docs/scaling.md',
  scalingPage: 'Several engines',
  handOverEffect,
  handOverTitle: (name: string) => `Hand over to ${name}?`,
  handOver: 'Hand over'
})

import { groupsContract, sessionsContract, tokensContract, usersContract, signInsContract } from './access.ts'
import { alertChannelsContract, alertRulesContract, alertsContract, alertSilencesContract } from './alerts.ts'
import { auditContract } from './audit.ts'
import { crawlContract, crawlOrdersContract } from './crawl.ts'
import { errorsContract } from './errors.ts'
import { eventsContract } from './events.ts'
import { findingsContract } from './findings.ts'
import { fleetFileContract } from './fleet-file.ts'
import { itemsContract } from './items.ts'
import { jobsContract } from './jobs.ts'
import { logsContract } from './logs.ts'
import type { Operations } from './operation.ts'
import { nodesContract, discoveryContract } from './nodes.ts'
import { projectsContract } from './projects.ts'
import { queueContract } from './queue.ts'
import { rolesContract } from './roles.ts'
import { chainsContract, schedulesContract } from './schedules.ts'
import { secondFactorsContract } from './second-factors.ts'
import { storageContract } from './storage.ts'
import { systemContract, enginesContract, environmentsContract } from './system.ts'
import { webhooksContract } from './webhooks.ts'

export const contract = {
  crawl: crawlContract,
  crawlOrders: crawlOrdersContract,
  jobs: jobsContract,
  queue: queueContract,
  nodes: nodesContract,
  discovery: discoveryContract,
  projects: projectsContract,
  schedules: schedulesContract,
  chains: chainsContract,
  webhooks: webhooksContract,
  alerts: alertsContract,
  alertRules: alertRulesContract,
  alertSilences: alertSilencesContract,
  alertChannels: alertChannelsContract,
  fleetFile: fleetFileContract,
  engines: enginesContract,
  storage: storageContract,
  environments: environmentsContract,
  logs: logsContract,
  items: itemsContract,
  errors: errorsContract,
  findings: findingsContract,
  events: eventsContract,
  users: usersContract,
  groups: groupsContract,
  roles: rolesContract,
  secondFactors: secondFactorsContract,
  tokens: tokensContract,
  audit: auditContract,
  sessions: sessionsContract,
  signIns: signInsContract,
  system: systemContract
} satisfies Operations

export type Contract = typeof contract
export { SECRET_MASK } from '../secret-values.ts'
export * from './access.ts'
export * from './alert-reports.ts'
export * from './alerts.ts'
export * from './audit.ts'
export * from './crawl.ts'
export * from './nodes.ts'
export * from './system.ts'
export * from './errors.ts'
export * from './events.ts'
export * from './findings.ts'
export * from './fixed-values.ts'
export * from './figures.ts'
export * from './fleet-file.ts'
export * from './ids.ts'
export * from './items.ts'
export * from './jobs.ts'
export * from './logs.ts'
export * from './operation.ts'
export * from './projects.ts'
export * from './queue.ts'
export * from './roles.ts'
export * from './schedules.ts'
export * from './second-factors.ts'
export * from './kubernetes.ts'
export * from './settings.ts'
export * from './storage.ts'
export * from './webhooks.ts'

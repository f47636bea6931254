import { implement } from '@orpc/server'
import { contract } from '../../shared/contract/index.ts'
import { EXAMPLES } from '../../shared/examples/operations.ts'

/** Has no alerts, and the examples of the API for everything else. Tests of alerts use a real engine. */
export function createFakeAlerts() {
  const os = implement(contract)
  return {
    alerts: {
      list: os.alerts.list.handler(() => ({ alerts: [], nextBefore: null })),
      evidence: os.alerts.evidence.handler(() => ({ log: null, history: null })),
      acknowledge: os.alerts.acknowledge.handler(() => ({ acknowledged: 0 })),
      unacknowledge: os.alerts.unacknowledge.handler(() => ({ unacknowledged: 0 })),
      notices: os.alerts.notices.handler(() => ({ notices: [], after: '0' })),
      report: os.alerts.report.handler(() => EXAMPLES.alerts.report.output)
    },
    alertRules: {
      list: os.alertRules.list.handler(() => EXAMPLES.alertRules.list.output),
      preview: os.alertRules.preview.handler(() => EXAMPLES.alertRules.preview.output),
      create: os.alertRules.create.handler(() => EXAMPLES.alertRules.create.output),
      update: os.alertRules.update.handler(() => EXAMPLES.alertRules.update.output),
      remove: os.alertRules.remove.handler(() => EXAMPLES.alertRules.remove.output),
      removeMany: os.alertRules.removeMany.handler(() => EXAMPLES.alertRules.removeMany.output)
    },
    alertSilences: {
      list: os.alertSilences.list.handler(() => EXAMPLES.alertSilences.list.output),
      create: os.alertSilences.create.handler(() => EXAMPLES.alertSilences.create.output),
      remove: os.alertSilences.remove.handler(() => EXAMPLES.alertSilences.remove.output),
      removeMany: os.alertSilences.removeMany.handler(() => EXAMPLES.alertSilences.removeMany.output)
    },
    alertChannels: {
      names: os.alertChannels.names.handler(() => EXAMPLES.alertChannels.names.output),
      list: os.alertChannels.list.handler(() => EXAMPLES.alertChannels.list.output),
      create: os.alertChannels.create.handler(() => EXAMPLES.alertChannels.create.output),
      update: os.alertChannels.update.handler(() => EXAMPLES.alertChannels.update.output),
      remove: os.alertChannels.remove.handler(() => EXAMPLES.alertChannels.remove.output),
      test: os.alertChannels.test.handler(() => EXAMPLES.alertChannels.test.output)
    }
  }
}

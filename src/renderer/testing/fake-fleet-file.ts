import { implement } from '@orpc/server'
import { contract } from '../../shared/contract/index.ts'

export function createFakeFleetFile() {
  const os = implement(contract).fleetFile
  return {
    export: os.export.handler(() => ({ yaml: 'nodes: []\n' })),
    plan: os.plan.handler(() => ({ changes: [] })),
    apply: os.apply.handler(() => ({ changes: [] }))
  }
}

import { describeContract } from '../../shared/testing/contract-cases.ts'
import { createFakeEngine } from './fake-engine.ts'

const open = async () => {
  const engine = createFakeEngine({ firstRun: true, stepMs: 0 })
  engine.nodes.clear()
  await engine.client.nodes.add({ url: 'http://127.0.0.1:9/', name: 'berlin', slots: 2 })
  await engine.client.projects.upload({ file: new File(['PK'], 'shop.egg'), project: 'shop', version: '1' })
  return engine
}

describeContract('the fake of the screens', open, false)

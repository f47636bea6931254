import { describeContract } from '../shared/testing/contract-cases.ts'
import { openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

describeContract('the engine', async () => {
  const house = await openEngineWithFakeNode()
  house.node.spiders = null
  await house.prepare('berlin')
  return { client: house.client, stop: () => house.remove() }
})

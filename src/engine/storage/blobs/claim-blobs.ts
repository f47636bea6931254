import { ScrapdeckError } from '../../../shared/errors.ts'
import type { SharedBlobs } from './shared-blobs.ts'
import type { Random } from '../../runtime/random.ts'
import type { Store } from '../store.ts'

/** Two stores must not share blobs: each would delete the eggs known only to the other. */
export async function claimBlobs(
  {
    store: blobs,
    name,
    ifForeign
  }: { store: Pick<SharedBlobs['store'], 'claim'> } & Pick<SharedBlobs, 'name' | 'ifForeign'>,
  store: Pick<Store, 'keepSetting'>,
  random: Pick<Random, 'hex'>
): Promise<void> {
  // Another engine may start on this store at the same moment: the first one chooses for both.
  const own = await store.keepSetting('blobs.owner', random.hex(16))
  if ((await blobs.claim(own)) === own) return
  throw new ScrapdeckError(
    'BLOBS_UNUSABLE',
    `The blobs at ${name} belong to the store of another Scrapdeck. ${ifForeign}`
  )
}

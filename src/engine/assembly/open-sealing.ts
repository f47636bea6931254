/** Loaded only with a key: the default start does not pay for it. */
export { SealedBlobStore } from '../storage/blobs/sealed/sealed-blob-store.ts'
export { Resealing } from '../runs/logs/archive/resealing.ts'

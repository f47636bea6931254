/** Loaded only with a key: it must not slow the default start. */
export { SealedBlobStore } from '../storage/blobs/sealed/sealed-blob-store.ts'
export { Resealing } from '../runs/logs/archive/resealing.ts'

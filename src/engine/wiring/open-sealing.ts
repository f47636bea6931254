/** Loaded only with a key: the default start does not pay for it. */
export { SealedBlobStore } from '../blobs/sealed/sealed-blob-store.ts'
export { Resealing } from '../logs/archive/resealing.ts'

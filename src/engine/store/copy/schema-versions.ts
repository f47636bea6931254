import { ScrapdeckError } from '../../../shared/errors.ts'

/** A copy has every column of this Scrapdeck and no other: stores of other versions are not read. */
export function requireNewestSchema(name: string, version: number, newest: number): void {
  if (version > newest) {
    const text = `${name} has schema version ${version}; this Scrapdeck supports versions up to ${newest}.`
    throw new ScrapdeckError('DATA_FROM_NEWER_VERSION', `${text} Copy it with the newer Scrapdeck that wrote it.`)
  }
  if (version < newest) {
    const text = `${name} has schema version ${version}, an older one than this Scrapdeck (${newest}).`
    throw new ScrapdeckError('BAD_INPUT', `${text} Start this Scrapdeck with it once, which migrates it, and stop it.`)
  }
}

import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/cli.ts'

/** The system's store for secrets: macOS Keychain, Windows Credential Manager, or a Secret Service on Linux. */
export interface Keychain {
  /** Returns the token for this address, or null if there is none. */
  read(address: string): Promise<string | null>
  write(address: string, token: string): Promise<void>
  remove(address: string): Promise<void>
}

const SERVICE = 'scrapdeck'
/** How long an operation can take. The user may have to unlock the keychain first. */
const UNLOCK_MS = 60_000

/** Loads the keychain library. Returns null if there is no keychain here or it must not be used. */
export async function openKeychain(environment: Record<string, string | undefined>): Promise<Keychain | null> {
  if (environment['SCRAPDECK_KEYCHAIN'] === 'off') return null
  const library = await import('@napi-rs/keyring').catch(() => null)
  if (library === null) return null
  const entryOf = (address: string) =>
    // Not the Linux kernel's keyring, which a restart clears.
    new library.AsyncEntry(SERVICE, address, { linux: { store: 'secret-service' } })
  const use = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => work(AbortSignal.timeout(UNLOCK_MS))
  const keychain: Keychain = {
    read: async (address) => {
      try {
        return await use((signal) => entryOf(address).getPassword(signal))
      } catch (cause) {
        throw new ScrapdeckError(
          'UNAUTHORIZED',
          sentence('cli.keychain_unreadable', { error: (cause as Error).message, address }),
          { cause }
        )
      }
    },
    write: (address, token) => use((signal) => entryOf(address).setPassword(token, signal)),
    remove: async (address) => void (await use((signal) => entryOf(address).deletePassword(signal)))
  }
  try {
    // Without a Secret Service, the library fails only on first use.
    await use((signal) => entryOf('probe').getPassword(signal))
    return keychain
  } catch {
    return null
  }
}

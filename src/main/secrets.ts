import { safeStorage } from 'electron'
import { asSealedText, type SecretBox } from '../engine/runtime/secret-box.ts'

const PREFIX = 'keychain:'

/**
 * A SecretBox backed by the system's keychain. Uses only the asynchronous API: Electron 46 removes the synchronous one.
 *
 * Without a real keychain, Linux falls back to `basic_text`, a password that is the same on every machine. Then
 * `fallback` (a key file that only this user can read) is safer, and its description says why it was chosen.
 */
export async function openSecretBox(fallback: () => Promise<SecretBox>): Promise<SecretBox> {
  const backend = process.platform === 'linux' ? safeStorage.getSelectedStorageBackend() : 'system'
  const isAvailable = backend !== 'basic_text' && (await safeStorage.isAsyncEncryptionAvailable())
  if (isAvailable) return createKeychainSecretBox(backend)
  const box = await fallback()
  return {
    ...box,
    description: `This desktop session has no keychain (${backend}), so passwords are stored differently: ${box.description}`,
    seal: (plainText) => box.seal(plainText),
    open: (sealed) => box.open(sealed)
  }
}

function createKeychainSecretBox(backend: string): SecretBox {
  return {
    store: 'keychain',
    description:
      backend === 'system' ? 'In the keychain of this system' : `In the keychain of this system (${backend})`,
    async seal(plainText) {
      const sealed = await safeStorage.encryptStringAsync(plainText)
      return asSealedText(PREFIX + sealed.toString('base64'))
    },
    async open(sealed) {
      if (!sealed.startsWith(PREFIX)) {
        throw new Error('This secret was not encrypted with this keychain: enter it again')
      }
      const { result } = await safeStorage.decryptStringAsync(Buffer.from(sealed.slice(PREFIX.length), 'base64'))
      return result
    }
  }
}

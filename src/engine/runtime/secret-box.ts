import type { SealedText } from '../../shared/contract/index.ts'

/**
 * Encrypts node passwords at rest. The desktop app uses the system's keychain (safeStorage). The headless service uses
 * a key file.
 */
export interface SecretBox {
  readonly store: 'keychain' | 'file'
  readonly description: string
  seal(plainText: string): Promise<SealedText>
  /** Rejects if the text was encrypted with another key. The operator must then enter the secret again. */
  open(sealed: SealedText): Promise<string>
}

/** For encrypted output, and for secret values in stored settings and arguments, which are typed as plain strings. */
export const asSealedText = (text: string): SealedText => text as SealedText

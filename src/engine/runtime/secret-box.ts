import type { SealedText } from '../../shared/contract/index.ts'

/**
 * Keeps node passwords unreadable at rest. The desktop gives one over the system's keychain (safeStorage), the headless
 * service one with a key file that only its user can read. `description` is shown to the operator.
 */
export interface SecretBox {
  readonly store: 'keychain' | 'file'
  readonly description: string
  seal(plainText: string): Promise<SealedText>
  /** Rejects when the text was sealed elsewhere: the operator must enter the secret again. */
  open(sealed: SealedText): Promise<string>
}

/** For what a box made, and for secret values in stored settings and arguments, which are plain texts to their type. */
export const asSealedText = (text: string): SealedText => text as SealedText

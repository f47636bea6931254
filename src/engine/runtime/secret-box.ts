/**
 * Keeps node passwords unreadable at rest. The desktop gives one over the system's keychain (safeStorage), the headless
 * service one with a key file that only its user can read. `description` is shown to the operator.
 */
export interface SecretBox {
  readonly store: 'keychain' | 'file'
  readonly description: string
  seal(plainText: string): Promise<string>
  /** Rejects when the text was sealed elsewhere: the operator must enter the secret again. */
  open(sealed: string): Promise<string>
}

/** Secrets are sealed in the engine's process. The shell only shows where. */
export async function openFileSecretBox(path: string) {
  return {
    store: 'file',
    description: `In a file: encrypted with the key file ${path}, which only its owner can read`
  }
}

/**
 * Loads reflect-metadata before a library that needs it (@peculiar/x509). An import statement is not enough, because a
 * bundler can put the two into chunks that load in a different order.
 */
export async function withReflection<Library>(load: () => Promise<Library>): Promise<Library> {
  await import('reflect-metadata')
  return load()
}

/**
 * Loads reflect-metadata before a library that needs it (@peculiar/x509). An import statement is not enough, because a
 * bundler can put both into chunks that load in another order.
 */
export async function withReflection<Library>(load: () => Promise<Library>): Promise<Library> {
  await import('reflect-metadata')
  return load()
}

/**
 * Loads a library that needs reflect-metadata (decorators of @peculiar/x509) to be there before it. An import statement
 * before its own is not enough: in a bundle, both may be parts of others that are loaded in another order.
 */
export async function withReflection<Library>(load: () => Promise<Library>): Promise<Library> {
  await import('reflect-metadata')
  return load()
}

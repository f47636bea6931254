/** Closes everything on the stack even if parts fail, and returns the errors in the order in which they happened. */
export async function closeAll(opened: AsyncDisposableStack): Promise<unknown[]> {
  try {
    await opened.disposeAsync()
    return []
  } catch (error) {
    return listErrors(error)
  }
}

/** Returns a single error as it is, and several as one AggregateError. */
export function joinErrors(errors: readonly unknown[], text: string): unknown {
  return errors.length === 1 ? errors[0] : new AggregateError(errors, text)
}

function listErrors(error: unknown): unknown[] {
  return error instanceof SuppressedError ? [...listErrors(error.suppressed), error.error] : [error]
}

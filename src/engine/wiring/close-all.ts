/** Closes all that is on the stack, whatever fails of it, and returns what did; in the order in which it happened. */
export async function closeAll(opened: AsyncDisposableStack): Promise<unknown[]> {
  try {
    await opened.disposeAsync()
    return []
  } catch (error) {
    return listErrors(error)
  }
}

/** One error is itself; several are told together, so that none is lost. */
export function joinErrors(errors: readonly unknown[], text: string): unknown {
  return errors.length === 1 ? errors[0] : new AggregateError(errors, text)
}

function listErrors(error: unknown): unknown[] {
  return error instanceof SuppressedError ? [...listErrors(error.suppressed), error.error] : [error]
}

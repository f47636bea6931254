/** Node's types omit WebAssembly, because the browser's types declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer
}

/**
 * Each call of the returned function creates an instance with its own memory. Only for loops over every byte of a log,
 * which take several times as long in JavaScript. A test compares the base64 with its `.wat` file
 * (testing/assemble.ts).
 */
export function compileWasm<Exports>(base64: string): () => Exports {
  let module: object | null = null
  return () => {
    module ??= new WebAssembly.Module(Buffer.from(base64, 'base64'))
    return new WebAssembly.Instance(module).exports as Exports
  }
}

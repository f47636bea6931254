/** The types of Node leave these to those of browsers. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer
}

/**
 * Compiles a module of ours, given in base64. Each call of the returned function makes an instance with a memory of its
 * own. For loops over every byte of a log only, which take several times as long in JavaScript; their source is a file
 * `.wat` beside the module, and a test compares the two (testing/assemble.ts).
 */
export function compileWasm<Exports>(base64: string): () => Exports {
  let module: object | null = null
  return () => {
    module ??= new WebAssembly.Module(Buffer.from(base64, 'base64'))
    return new WebAssembly.Instance(module).exports as Exports
  }
}

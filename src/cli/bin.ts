#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { packagePaths } from './package-paths.ts'

// Compiles and caches all modules imported after this one. Has no effect if the directory is not writable.
enableCompileCache(packagePaths.compileCacheDirectory)
void import('./program.ts')

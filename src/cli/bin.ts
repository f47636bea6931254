#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { packagePaths } from './package-paths.ts'

// For everything imported from here on: all but this file. No effect if the directory is not writable.
enableCompileCache(packagePaths.compileCacheDirectory)
void import('./program.ts')

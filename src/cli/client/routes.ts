import { contract } from '../../shared/contract/index.ts'

/**
 * The method and path of each operation. The built command line has only these: the build replaces this file by them
 * (service.vite.config.ts), because loading the schemas takes longer than most commands.
 */
export const routes = contract

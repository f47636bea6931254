import { contract } from '../../shared/contract/index.ts'

/**
 * The method and path of each operation. The build replaces this file with the resulting table
 * (service.vite.config.ts), because loading the schemas takes longer than most commands.
 */
export const routes = contract

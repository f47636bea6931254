import { describeRealScrapyd } from './testing/real-scrapyd.ts'

/** The oldest and the newest version. between-versions.full.integration.test.ts tests those between them. */
describeRealScrapyd({ version: '1.2.1', probedAs: '1.2', password: null, isWhole: true })
describeRealScrapyd({ version: '1.6.0', probedAs: '1.5+', password: 'pä:ss;&', isWhole: true })

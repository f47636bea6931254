import { isLong } from '../../../../scripts/test-length.mjs'
import { describeRealScrapyd } from './testing/real-scrapyd.ts'

/**
 * The error messages of these versions are those of the oldest or the newest version (refusals.test.ts). The short form
 * checks only that they accept, run and list a job, because starting a Python takes long.
 */
describeRealScrapyd({ version: '1.3.0', probedAs: '1.3', password: 'pä:ss;&', isWhole: isLong })
describeRealScrapyd({ version: '1.4.3', probedAs: '1.4', password: 'pä:ss;&', isWhole: isLong })
describeRealScrapyd({ version: '1.5.0', probedAs: '1.5+', password: null, isWhole: isLong })

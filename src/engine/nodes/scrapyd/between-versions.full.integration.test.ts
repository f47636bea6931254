import { isLong } from '../../../../scripts/test-length.mjs'
import { describeRealScrapyd } from './testing/real-scrapyd.ts'

/**
 * With the words of the oldest or the newest (refusals.test.ts): the short form sees that they take, run and show a
 * job. Each spider, and each list of spiders, is a Python that imports Scrapy.
 */
describeRealScrapyd({ version: '1.3.0', probedAs: '1.3', password: 'pä:ss;&', isWhole: isLong })
describeRealScrapyd({ version: '1.4.3', probedAs: '1.4', password: 'pä:ss;&', isWhole: isLong })
describeRealScrapyd({ version: '1.5.0', probedAs: '1.5+', password: null, isWhole: isLong })

/** A spider with one item and a log that is too long for the database, so it is stored as a blob. */
export const TALKS = `import scrapy

class Talks(scrapy.Spider):
    name = "talks"
    start_urls = ["data:text/plain,hello"]

    def parse(self, response):
        for number in range(4000):
            self.logger.info("line %d of the talk, %s", number, "x" * (number % 50))
        yield {"said": 4000}
`

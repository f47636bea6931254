from setuptools import setup

setup(
    name="reporting",
    version="3.2",
    # `oldspace` the way of pkg_resources, `sharedspace` that of pkgutil: both have parts outside the egg.
    packages=["reporting", "oldspace", "sharedspace"],
    namespace_packages=["oldspace"],
    package_data={"reporting": ["data.txt"]},
    entry_points={"scrapy": ["settings = reporting.settings"]},
)
